-- Whoever changes what a cached row was computed from, by whichever program, removes that row.
CREATE TRIGGER derived_trial_changed AFTER UPDATE ON trial
BEGIN DELETE FROM derived WHERE trial = old.id; END;
CREATE TRIGGER derived_trial_gone AFTER DELETE ON trial
BEGIN DELETE FROM derived WHERE trial = old.id; END;
CREATE TRIGGER derived_sample_new AFTER INSERT ON sample
BEGIN DELETE FROM derived WHERE trial = new.trial; END;
CREATE TRIGGER derived_sample_changed AFTER UPDATE ON sample
BEGIN DELETE FROM derived WHERE trial = old.trial; END;
CREATE TRIGGER derived_sample_gone AFTER DELETE ON sample
BEGIN DELETE FROM derived WHERE trial = old.trial; END;
CREATE TRIGGER derived_histogram_new AFTER INSERT ON histogram
BEGIN DELETE FROM derived WHERE trial = new.trial; END;
CREATE TRIGGER derived_histogram_changed AFTER UPDATE ON histogram
BEGIN DELETE FROM derived WHERE trial = old.trial; END;
CREATE TRIGGER derived_histogram_gone AFTER DELETE ON histogram
BEGIN DELETE FROM derived WHERE trial = old.trial; END;
CREATE TRIGGER derived_note_new AFTER INSERT ON note
BEGIN DELETE FROM derived WHERE trial = new.trial; END;
CREATE TRIGGER derived_note_changed AFTER UPDATE ON note
BEGIN DELETE FROM derived WHERE trial = old.trial; END;
CREATE TRIGGER derived_note_gone AFTER DELETE ON note
BEGIN DELETE FROM derived WHERE trial = old.trial; END;
CREATE TRIGGER derived_fault_new AFTER INSERT ON fault
BEGIN DELETE FROM derived WHERE trial = new.trial; END;
CREATE TRIGGER derived_fault_changed AFTER UPDATE ON fault
BEGIN DELETE FROM derived WHERE trial = old.trial; END;
CREATE TRIGGER derived_fault_gone AFTER DELETE ON fault
BEGIN DELETE FROM derived WHERE trial = old.trial; END;
