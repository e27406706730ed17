//! What smartctl says, shortened from its answers about real kinds of drives.

use super::*;

const ATA: &str = r#"{"json_format_version":[1,0],"smartctl":{"version":[7,3],"exit_status":0},
"device":{"name":"/dev/sda","type":"sat","protocol":"ATA"},"rotation_rate":7200,
"smart_status":{"passed":true},
"ata_smart_attributes":{"revision":16,"table":[
{"id":5,"name":"Reallocated_Sector_Ct","value":100,"worst":100,"thresh":10,
"raw":{"value":8589934600,"string":"8 (0 2)"}},
{"id":9,"name":"Power_On_Hours","raw":{"value":36055,"string":"36055"}},
{"id":194,"name":"Temperature_Celsius","raw":{"value":12884901924,"string":"36 (0 3 0 0 0)"}},
{"id":197,"name":"Current_Pending_Sector","raw":{"value":3,"string":"3"}},
{"id":198,"name":"Offline_Uncorrectable","raw":{"value":1}},
{"id":199,"name":"UDMA_CRC_Error_Count","raw":{"value":17,"string":"17"}}]},
"power_on_time":{"hours":36055},"temperature":{"current":36}}"#;

const SCSI: &str = r#"{"smartctl":{"version":[7,4],"exit_status":0},
"device":{"name":"/dev/sdb","type":"scsi","protocol":"SCSI"},"smart_status":{"passed":true},
"temperature":{"current":31,"drive_trip":60},"power_on_time":{"hours":28682,"minutes":31},
"scsi_grown_defect_list":2,"scsi_pending_defects":{"count":10},
"scsi_percentage_used_endurance_indicator":4,
"scsi_error_counter_log":{"read":{"gigabytes_processed":"123.500","total_uncorrected_errors":4},
"write":{"total_uncorrected_errors":1},"verify":{"total_uncorrected_errors":0}}}"#;

const NVME: &str = r#"{"smartctl":{"version":[7,4],"exit_status":0},
"device":{"name":"/dev/nvme0n1","type":"nvme","protocol":"NVMe"},"smart_status":{"passed":false},
"nvme_composite_temperature_threshold":{"warning":82,"critical":85},
"temperature":{"op_limit_max":82,"critical_limit_max":85,"current":54},
"nvme_smart_health_information_log":{"critical_warning":1,"temperature":54,"available_spare":9,
"percentage_used":101,"power_on_hours":12,"media_errors":5,
"num_err_log_entries":6},"power_on_time":{"hours":12}}"#;

const ASLEEP: &str = r#"{"smartctl":{"version":[7,3],"messages":[
{"string":"Device is in STANDBY mode, exit(2)","severity":"information"}],"exit_status":2},
"device":{"name":"/dev/sda","type":"sat","protocol":"ATA"}}"#;

#[test]
fn attributes_of_a_sata_disk_are_read_as_smartctl_understands_them() {
    let health = parse(ATA).unwrap();
    assert_eq!((health.source.as_str(), health.passed), ("smartctl", Some(true)));
    // Its 48 bits are 8589934600; what they count is 8.
    assert_eq!(health.reallocated_sectors, Some(8));
    assert_eq!((health.pending_sectors, health.uncorrectable_sectors), (Some(3), Some(1)));
    assert_eq!((health.link_errors, health.power_on_hours), (Some(17), Some(36_055)));
    assert_eq!((health.celsius, health.warning_celsius), (Some(36.0), None));
}

#[test]
fn a_sas_drive_counts_defects_and_a_nvme_drive_errors() {
    let health = parse(SCSI).unwrap();
    assert_eq!((health.reallocated_sectors, health.pending_sectors), (Some(2), Some(10)));
    assert_eq!((health.uncorrectable_sectors, health.used_share), (Some(5), Some(0.04)));
    assert_eq!((health.celsius, health.critical_celsius), (Some(31.0), Some(60.0)));
    let health = parse(NVME).unwrap();
    assert_eq!((health.passed, health.media_errors), (Some(false), Some(5)));
    assert_eq!(health.logged_errors, Some(6));
    assert_eq!((health.warning_celsius, health.critical_celsius), (Some(82.0), Some(85.0)));
    assert_eq!((health.used_share, health.power_on_hours), (Some(1.01), Some(12)));
}

#[test]
fn a_sleeping_disk_is_told_from_a_broken_one() {
    let why = parse(ASLEEP).unwrap_err();
    assert_eq!(why, "Device is in STANDBY mode, exit(2)");
    assert!(sleeps(&why));
    let why = parse(r#"{"smartctl":{"messages":[{"string":"Unable to detect device type"}]}}"#);
    assert!(!sleeps(&why.unwrap_err()));
    assert!(parse("{}").unwrap_err().contains("nothing of its health"));
}

#[test]
fn what_is_cut_off_tells_nothing() {
    for text in [ATA, SCSI, NVME, ASLEEP] {
        for end in 0..text.len() {
            assert!(parse(&text[..end]).is_err(), "cut at {end}");
        }
    }
}

#[test]
fn hostile_answers_become_no_figures() {
    for value in ["-1", "1e30", "\"7\"", "null", "[]", "{}", "18446744073709551616", "true"] {
        let text = format!(
            r#"{{"temperature":{{"current":{value},"op_limit_max":{value}}},
            "power_on_time":{{"hours":{value}}},"scsi_grown_defect_list":{value},
            "endurance_used":{{"current_percent":{value}}},
            "ata_smart_attributes":{{"table":[{value},{{"id":5,"raw":{{"value":{value}}}}},
            {{"id":{value}}},{{"id":197,"raw":{value}}},
            {{"id":198,"raw":{{"string":"0x12 y","value":3}}}}]}},
            "smart_status":{{"passed":"yes"}},"smartctl":{{"messages":{value}}}}}"#
        );
        // Minus one degree is a temperature, and nothing else here is a figure.
        let health = parse(&text).unwrap_or_default();
        let figures = [
            health.power_on_hours,
            health.reallocated_sectors,
            health.pending_sectors,
            health.uncorrectable_sectors,
        ];
        assert_eq!((figures, health.used_share), ([None; 4], None), "{value}");
        assert!([None, Some(-1.0)].contains(&health.celsius), "{value}");
    }
    let deep = "[".repeat(1 << 20);
    assert!(parse(&deep).is_err());
}
