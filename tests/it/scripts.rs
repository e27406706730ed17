//! What other programs make of a campaign: R, Python and DuckDB's files, run as a person would.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::program::{brickyard, document};

/// A group's name that would be code in a script that quoted it badly, and a command in a shell.
const HOSTILE: &str = "\"); system('touch owned'); ('\\ `touch owned` \"\"\" %s \u{e9}";

/// Two factors, three replicates, of a simulated server.
fn measured(folder: &Path) {
    let name = toml_text(HOSTILE);
    let plan = format!(
        "[plan]\nname = \"two factors\"\nabout = \"Hostile\"\nengine = \"sim\"\nreplicates = 3\n\
         seed = 5\n[[workload]]\nname = {name}\nuse = \"sequential-read\"\nfile-size = \"1GiB\"\n\
         streams = [1, 4, 16]\nblock-size = [\"64KiB\", \"1MiB\"]\nstop = \"500ms\"\n"
    );
    std::fs::write(folder.join("plan.toml"), plan).expect("a plan");
    let output = brickyard(folder, &["run", "plan.toml", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

fn toml_text(text: &str) -> String {
    // A JSON string without a slash or a surrogate is one of TOML, too.
    serde_json::to_string(text).expect("a string")
}

/// Runs a program in `folder`; what it printed. Nothing that a text asked for may have happened.
fn printed(folder: &Path, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(folder).output();
    let output = output.unwrap_or_else(|why| panic!("{program}: {why}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{program} {arguments:?}: {said}");
    assert!(!folder.join("owned").exists(), "a name was taken for a command");
    String::from_utf8(output.stdout).expect("text")
}

fn works(program: &str, arguments: &[&str]) -> bool {
    let output = Command::new(program).args(arguments).output();
    output.is_ok_and(|output| output.status.success())
}

/// A mean of the report with half its interval, in MB/s, and whether its spread is the cell's own.
struct Mean {
    value: f64,
    half: f64,
    own: bool,
}

/// The figures of the report's cells, in ascending order.
fn means(folder: &Path) -> Vec<Mean> {
    let report = document(&brickyard(folder, &["report", "--json"]));
    let cells = report["cells"].as_array().expect("cells");
    let timed = cells.iter().filter(|cell| cell["group"] == HOSTILE);
    let of = |cell: &Value| {
        let figure = &cell["figures"]["throughput_bytes_per_s"];
        let number = |name: &str| figure[name].as_f64().expect("a number");
        let (value, half) = (number("value") / 1e6, (number("high") - number("low")) / 2e6);
        let own = cell["pooled_spread_cells"]["throughput_bytes_per_s"].is_null();
        Mean { value, half, own }
    };
    let mut means: Vec<Mean> = timed.map(of).collect();
    means.sort_by(|a, b| a.value.total_cmp(&b.value));
    assert_eq!(means.len(), 6, "{report:#}");
    means
}

/// Lines of `mean half`, as a script printed them: the means are those of the report, and no
/// interval is wider than the report's, unless that is of a spread that is pooled over cells.
fn same(told: &str, means: &[Mean]) {
    let mut found: Vec<[f64; 2]> = told
        .lines()
        .filter_map(|line| line.strip_prefix("cell "))
        .map(|line| {
            let (mean, half) = line.split_once(' ').expect("two numbers");
            [mean, half].map(|number| number.parse().expect("a number"))
        })
        .collect();
    found.sort_by(|a, b| a[0].total_cmp(&b[0]));
    assert_eq!(found.len(), means.len(), "{told}");
    for ([mean, half], report) in found.iter().zip(means) {
        assert!((mean / report.value - 1.0).abs() < 1e-6, "{mean} {}: {told}", report.value);
        // The report knows of what all repeats have alike, as whole blocks, and widens.
        let wider = *half > report.half * (1.0 + 1e-6);
        assert!(!wider || !report.own, "{half} {}: {told}", report.half);
        assert!(*half > 0.1 * report.half || !report.own, "{half} {}: {told}", report.half);
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "a test that cannot run here says so")]
fn the_script_in_r_loads_the_trials_typed_and_draws_them() {
    if !works("Rscript", &["--version"]) {
        return println!("SKIP script in R: Rscript is not installed (r-base-core)");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    measured(at);
    brickyard(at, &["report", "--format", "r", "--output", "trials.R"]);
    // The whole of it is the script: the store may be elsewhere.
    std::fs::rename(at.join("brickyard.db"), at.join("away.db")).expect("renamed");
    let told = printed(at, "Rscript", &["--vanilla", "trials.R", "a picture.png"]);
    assert!(told.contains("18 trials,") && told.contains("picture: a picture.png"), "{told}");
    assert!(std::fs::read(at.join("a picture.png")).expect("drawn").starts_with(b"\x89PNG"));
    let check = "source('trials.R'); pdf(NULL); points <- draw(trials)\n\
        cat(sprintf('cell %.17g %.17g\\n', points$mean, points$half), sep = '')\n\
        stopifnot(is.logical(trials$steady), is.factor(trials$group), is.numeric(trials$streams),\n\
          identical(levels(trials$outcome), 'done'), all(is.na(trials$reason)),\n\
          setequal(trials$block_size, c(65536, 1048576)), nlevels(trials$access) == 1,\n\
          units_of$latency_ns_p50 == 'ns', campaign$seed == '5', nchar(campaign$host) > 0)\n\
        cat(utf8ToInt(levels(trials$group)), '\\n')\n";
    std::fs::write(at.join("check.R"), check).expect("written");
    let told = printed(at, "Rscript", &["--vanilla", "check.R"]);
    std::fs::rename(at.join("away.db"), at.join("brickyard.db")).expect("renamed");
    same(&told, &means(at));
    let name: Vec<String> = HOSTILE.chars().map(|c| u32::from(c).to_string()).collect();
    assert!(told.contains(&name.join(" ")), "the name came through: {told}");
}

#[test]
#[expect(clippy::print_stdout, reason = "a test that cannot run here says so")]
fn the_script_in_python_loads_the_trials_typed_and_draws_them() {
    // Debian's packages belong to Debian's own interpreter.
    let python = ["python3", "/usr/bin/python3"]
        .into_iter()
        .find(|python| works(python, &["-c", "import pandas, matplotlib"]));
    let Some(python) = python else {
        return println!("SKIP script in Python: no pandas and matplotlib (python3-pandas)");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    measured(at);
    brickyard(at, &["report", "--format", "python", "--output", "trials.py"]);
    let told = printed(at, python, &["trials.py", "a picture.png"]);
    assert!(told.contains("18 trials,") && told.contains("picture: a picture.png"), "{told}");
    assert!(std::fs::read(at.join("a picture.png")).expect("drawn").starts_with(b"\x89PNG"));
    let check = "import trials as t\n\
        for line, level, mean, half, origin in t.cells(t.trials):\n    print('cell', mean, half)\n\
        types = {name: str(kind) for name, kind in t.trials.dtypes.items()}\n\
        assert types['steady'] == 'boolean' and types['group'] == 'category', types\n\
        assert types['block_size'] == 'Int64' and types['latency_ns_p50'] == 'float64', types\n\
        assert t.trials['reason'].isna().all() and t.CAMPAIGN['seed'] == '5'\n\
        assert t.trials['trial'].max() - t.trials['trial'].min() == 17\n\
        print(*map(ord, t.trials['group'].cat.categories[0]))\n";
    std::fs::write(at.join("check.py"), check).expect("written");
    let told = printed(at, python, &["check.py"]);
    same(&told, &means(at));
    let name: Vec<String> = HOSTILE.chars().map(|c| u32::from(c).to_string()).collect();
    assert!(told.contains(&name.join(" ")), "the name came through: {told}");
}

/// An evaluation of the simulated server, which has the core set.
fn evaluated(folder: &Path) {
    let output =
        brickyard(folder, &["evaluate", "--engine", "sim", "--seed", "1", "--quiet", "--plain"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Loads of the first chart that every evaluation measures.
const BARS: [&str; 4] =
    ["MB/s read, depth 8", "MB/s write, depth 8", "IOPS read, depth 32", "IOPS write, depth 1"];

/// Each bar as the script has it: the panel's unit and its label, on a line that begins with `bar`.
fn has_bars(told: &str) {
    assert!(told.contains("reached draw_bars"), "{told}");
    for bar in BARS {
        let (unit, label) = bar.split_once(' ').expect("two parts");
        let is = |line: &str| {
            line.strip_prefix("bar ")
                .is_some_and(|rest| rest.ends_with(&format!("{unit}: {label}")))
        };
        assert!(told.lines().any(is), "no bar {bar}: {told}");
    }
}

/// The scripts drew the plot of the first group, whatever stood first in the report; what draws the
/// report's first chart was there and no test reached it.
#[test]
#[expect(clippy::print_stdout, reason = "a test that cannot run here says so")]
fn the_script_in_r_draws_the_first_chart_of_an_evaluation() {
    if !works("Rscript", &["--version"]) {
        return println!("SKIP bars in R: Rscript is not installed (r-base-core)");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    evaluated(at);
    brickyard(at, &["report", "--format", "r", "--output", "trials.R"]);
    let told = printed(at, "Rscript", &["--vanilla", "trials.R", "bars.png"]);
    assert!(told.contains("picture: bars.png"), "{told}");
    assert!(std::fs::read(at.join("bars.png")).expect("drawn").starts_with(b"\x89PNG"));
    let check = "source('trials.R'); pdf(NULL)\n\
        whole <- draw_bars; draw_bars <- function(t) { cat('reached draw_bars\\n'); whole(t) }\n\
        drawn <- draw(trials); stopifnot(identical(drawn, bars))\n\
        cat(sprintf('bar %s: %s\\n', drawn$panel, drawn$label), sep = '')\n\
        for (bar in seq_along(drawn$panel)) {\n\
          numbers <- as.integer(strsplit(drawn$trials[bar], ' ')[[1]])\n\
          values <- trials[[drawn$column[bar]]][trials$trial %in% numbers]\n\
          stopifnot(length(numbers) > 0, length(values) == length(numbers), all(values > 0))\n\
        }\n";
    std::fs::write(at.join("check.R"), check).expect("written");
    has_bars(&printed(at, "Rscript", &["--vanilla", "check.R"]));
}

#[test]
#[expect(clippy::print_stdout, reason = "a test that cannot run here says so")]
fn the_script_in_python_draws_the_first_chart_of_an_evaluation() {
    let python = ["python3", "/usr/bin/python3"]
        .into_iter()
        .find(|python| works(python, &["-c", "import pandas, matplotlib"]));
    let Some(python) = python else {
        return println!("SKIP bars in Python: no pandas and matplotlib (python3-pandas)");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    evaluated(at);
    brickyard(at, &["report", "--format", "python", "--output", "trials.py"]);
    let told = printed(at, python, &["trials.py", "bars.png"]);
    assert!(told.contains("picture: bars.png"), "{told}");
    assert!(std::fs::read(at.join("bars.png")).expect("drawn").starts_with(b"\x89PNG"));
    let check = "import trials as t\n\
        whole = t.draw_bars\n\
        def reached(trials, pyplot):\n    \
            figure = whole(trials, pyplot)\n    \
            drawn = [bar for axes in figure.axes for bar in axes.patches]\n    \
            assert len(drawn) == len(t.BARS), (len(drawn), t.BARS)\n    \
            assert all(bar.get_width() > 0 for bar in drawn)\n    \
            print('reached draw_bars')\n    \
            return figure\n\
        t.draw_bars = reached\n\
        t.draw(t.trials, 'again.png')\n\
        for panel, label, *_ in t.BARS:\n    print(f'bar {panel}: {label}')\n";
    std::fs::write(at.join("check.py"), check).expect("written");
    has_bars(&printed(at, python, &["check.py"]));
}

/// Whoever lacks pandas is told how to get it, not shown a traceback.
#[test]
#[expect(clippy::print_stdout, reason = "a test that cannot run here says so")]
fn without_pandas_the_script_says_what_to_install() {
    if !works("python3", &["--version"]) {
        return println!("SKIP script without pandas: python3 is not installed");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    measured(at);
    brickyard(at, &["report", "--format", "python", "--output", "trials.py"]);
    std::fs::write(at.join("pandas.py"), "raise ImportError('no module')\n").expect("written");
    let output = Command::new("python3").arg("trials.py").current_dir(at).output();
    let output = output.expect("started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("hint: apt-get install python3-pandas"), "{said}");
    assert!(!said.contains("Traceback"), "{said}");
}

#[test]
fn parquet_goes_to_a_file_or_a_pipe_with_the_columns_of_csv() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    measured(at);
    let piped = brickyard(at, &["report", "--format", "parquet"]).stdout;
    brickyard(at, &["report", "--format", "parquet", "-o", "trials.parquet"]);
    assert_eq!(piped, std::fs::read(at.join("trials.parquet")).expect("written"));
    assert!(piped.starts_with(b"PAR1") && piped.ends_with(b"PAR1"), "{} bytes", piped.len());
    let csv = brickyard(at, &["report", "--format", "csv"]).stdout;
    let csv = String::from_utf8(csv).expect("text");
    let head: Vec<&str> = csv.lines().next().expect("a head").split(',').collect();
    for name in head {
        assert!(piped.windows(name.len()).any(|part| part == name.as_bytes()), "{name}");
    }
}
