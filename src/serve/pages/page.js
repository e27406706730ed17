// What is quicker here than by asking the server again; every page does without.
(() => {
  'use strict';
  const byId = (id) => document.getElementById(id);
  document.querySelectorAll('.scripted').forEach((part) => { part.hidden = false; });

  // Rows that have all the words, as the server filters them; it is asked only for what is not here.
  const [filter, table, count] = [byId('filter'), byId('campaigns'), byId('count')];
  if (filter && table && 'whole' in table.dataset) {
    const rows = [...table.tBodies[0].rows];
    const apply = () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      rows.forEach((row) => {
        const text = row.dataset.words;
        row.hidden = !words.every((word) => text.includes(word));
      });
      count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length}`;
    };
    filter.addEventListener('input', apply);
    apply();
  }

  // Two campaigns at least are compared; a row that is filtered away keeps its tick, and says so.
  const [compare, chosen] = [byId('compare'), byId('chosen')];
  if (compare && table) {
    const tell = () => {
      const ticked = [...table.querySelectorAll('input:checked')].map((box) => box.value);
      compare.disabled = ticked.length < 2;
      chosen.textContent = ticked.length ? `chosen: ${ticked.reverse().join(', ')}` : 'choose two or more';
    };
    table.addEventListener('change', tell);
    // A browser that goes back fills the boxes in after this has run.
    window.addEventListener('pageshow', tell);
    tell();
  }

  // A name goes where the cursor is.
  const sql = byId('sql');
  if (sql) {
    document.addEventListener('click', (event) => {
      const name = event.target.closest('[data-insert]')?.dataset.insert;
      if (name === undefined) return;
      const before = sql.value.slice(0, sql.selectionStart);
      const gap = before === '' || /[\s(.]$/.test(before) ? '' : ' ';
      sql.setRangeText(gap + name, sql.selectionStart, sql.selectionEnd, 'end');
      sql.focus();
    });
    sql.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) sql.form.requestSubmit();
    });
  }
})();
