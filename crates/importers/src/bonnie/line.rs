//! (pure) bonnie++'s CSV line: of 1.03 without a word of its form, and of the forms 1.96 to 1.98.

use super::{BonniePhase, BonnieRate, BonnieRun, bytes, plain, wait_ns};

/// Where things stand in a line of a form.
struct BonnieLineForm {
    fields: usize,
    /// Where the rate of the first phase stands, and of the first of small files.
    first: usize,
    create: usize,
    /// Where the longest waits begin.
    wait: Option<usize>,
}

const OF_103: BonnieLineForm = BonnieLineForm { fields: 27, first: 2, create: 15, wait: None };
const OF_197: BonnieLineForm = BonnieLineForm { fields: 48, first: 7, create: 24, wait: Some(36) };
const OF_198: BonnieLineForm = BonnieLineForm { fields: 50, first: 9, create: 26, wait: Some(38) };

pub(super) fn is_line(line: &str) -> bool {
    let line = line.trim();
    let mut fields = line.split(',');
    let form = fields.next().unwrap_or_default();
    let version = fields.next().unwrap_or_default();
    let number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit()) && text.contains('.');
    let is_new = number(form) && number(version) && line.matches(',').count() > 20;
    is_new || is_old(line)
}

/// Whether it is one of 1.03: a name, a size such as `8G` or `8G:64k`, and numbers alone.
fn is_old(line: &str) -> bool {
    let fields: Vec<&str> = line.split(',').collect();
    let Some((head, numbers)) = fields.split_at_checked(OF_103.first) else { return false };
    let size = head.last().map_or("", |size| size.split(':').next().unwrap_or_default());
    let is_size = bytes(size).is_some() && size.ends_with(['M', 'G']);
    let is_number = |field: &&str| field.split(['/', ':']).all(|part| plain(part).is_some());
    let files = OF_103.create - OF_103.first - 1;
    let all = numbers.iter().enumerate().all(|(at, field)| {
        field.is_empty()
            || field.starts_with("+++")
            || (plain(field).is_some())
            || (at == files && is_number(field))
    });
    fields.len() == OF_103.fields && is_size && all && !head.concat().contains(' ')
}

/// The run that a line is of.
pub(super) fn run(line: &str) -> Result<BonnieRun, String> {
    let fields: Vec<&str> = line.split(',').collect();
    let field = |at: usize| fields.get(at).copied().unwrap_or_default();
    let is_old = is_old(line);
    let form = match field(0) {
        _ if is_old => &OF_103,
        "1.96" | "1.97" => &OF_197,
        "1.98" => &OF_198,
        _ => &OF_103,
    };
    if fields.len() != form.fields {
        return Err(format!(
            "its line has the form {} with {} fields; known are 1.98 with 50, 1.96 and 1.97 with \
             48, and that of 1.03 with 27",
            field(0),
            fields.len()
        ));
    }
    let mut run = BonnieRun::default();
    if is_old {
        let (size, block) = field(1).split_once(':').unwrap_or((field(1), ""));
        (run.title, run.size, run.block) = (field(0).to_owned(), size.into(), block.into());
    } else {
        (run.version, run.title) = (field(1).to_owned(), field(2).to_owned());
        // The second is blank more often than not; what follows is the number of seeks.
        (run.size, run.block) = (field(5).to_owned(), field(6).to_owned());
    }
    for (at, phase) in run.phases.iter_mut().enumerate() {
        let place = match at < super::FIRST {
            true => form.first + 2 * at,
            false => form.create + 2 * (at - super::FIRST),
        };
        let rate = BonnieRate::of(field(place))?;
        let cpu = Some(field(place + 1)).filter(|cpu| plain(cpu).is_some()).map(str::to_owned);
        if cpu.is_none() && !["", "+++", "+++++"].contains(&field(place + 1)) {
            return Err(format!("`{}` in its line is no number", field(place + 1)));
        }
        let wait = form.wait.map(|first| field(first + at)).filter(|wait| !wait.is_empty());
        if let Some(wait) = wait {
            wait_ns(wait)?;
        }
        *phase = BonniePhase { rate, cpu, wait: wait.map(str::to_owned) };
    }
    Ok(run)
}
