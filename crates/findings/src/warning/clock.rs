//! The processors' clock.

use super::WarningFinding;
use facts::inventory::server::Server;

/// A governor that keeps the clock low, or, with drivers that steer it themselves, lets it follow
/// the load.
pub fn powersave(server: &Server) -> Vec<WarningFinding> {
    let processors = &server.processors;
    if !processors.governors.iter().any(|governor| governor == "powersave") {
        return Vec::new();
    }
    // With these drivers in their active mode `powersave` is the usual governor, and chooses the
    // rate by load (the kernel's Documentation/admin-guide/pm/{intel_pstate,amd-pstate}).
    let driver = processors.clock_driver.as_deref().unwrap_or("");
    let follows = matches!(driver, "intel_pstate" | "amd-pstate-epp" | "amd_pstate_epp");
    let most = processors.max_khz.map(|khz| format!(" of {:.1} GHz", khz as f64 / 1e6));
    let most = most.unwrap_or_default();
    let (text, cost) = match follows {
        true => (
            format!("The governor is `powersave`: with {driver} the clock follows the load."),
            format!(
                "loads that sleep between operations (one stream, queue depth 1) run below the \
                 highest rate{most}, and each operation takes longer; loads that fill a core do not"
            ),
        ),
        false => (
            "The governor is `powersave`: the clock stays at its lowest.".to_owned(),
            format!(
                "everything that a processor does, copying, checksums, interrupts, is slower by \
                 the ratio of the lowest rate to the highest{most}"
            ),
        ),
    };
    let mut evidence = vec![format!(
        "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor = {}",
        processors.governors.join(", ")
    )];
    if !driver.is_empty() {
        let file = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver";
        evidence.push(format!("{file} = {driver}"));
    }
    vec![WarningFinding {
        part: "processors".to_owned(),
        text,
        evidence,
        cost,
        command: "`cpupower frequency-set -g performance`, or `tuned-adm profile \
                  throughput-performance`, which stays"
            .to_owned(),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(governors: &[&str], driver: &str) -> Server {
        let mut server = Server::default();
        server.processors.governors = governors.iter().map(|text| (*text).to_owned()).collect();
        server.processors.clock_driver = Some(driver.to_owned());
        server.processors.max_khz = Some(3_500_000);
        server
    }

    #[test]
    fn powersave_means_the_lowest_clock_or_one_that_follows_the_load() {
        let found = powersave(&server(&["performance", "powersave"], "acpi-cpufreq"));
        assert!(found[0].text.contains("at its lowest"), "{}", found[0].text);
        assert!(found[0].evidence[0].ends_with("= performance, powersave"));
        let found = powersave(&server(&["powersave"], "intel_pstate"));
        assert!(found[0].text.contains("follows the load"), "{}", found[0].text);
        assert!(found[0].cost.contains("of 3.5 GHz"), "{}", found[0].cost);
    }

    #[test]
    fn other_governors_and_none_are_fine() {
        assert_eq!(powersave(&server(&["schedutil", "performance"], "acpi-cpufreq")), []);
        assert_eq!(powersave(&server(&[], "")), []);
    }
}
