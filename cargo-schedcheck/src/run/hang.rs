//! What a test process that does not answer waits for: a system call that no thread of the test can end.
use fs_err as fs;

/// The calls in which threads wait for the world outside, by their numbers on x86-64. A futex is not among them: it is how
/// threads that explore nothing wait.
const CALLS: [(u32, &str); 20] = [
    (0, "read"),
    (7, "poll"),
    (19, "readv"),
    (23, "select"),
    (34, "pause"),
    (35, "nanosleep"),
    (42, "connect"),
    (43, "accept"),
    (45, "recvfrom"),
    (47, "recvmsg"),
    (61, "wait4"),
    (73, "flock"),
    (230, "clock_nanosleep"),
    (232, "epoll_wait"),
    (247, "waitid"),
    (270, "pselect6"),
    (271, "ppoll"),
    (281, "epoll_pwait"),
    (288, "accept4"),
    (441, "epoll_pwait2"),
];

/// The call in which a thread of that process waits, as far as the system tells.
pub fn waits_in(process: u32) -> Option<&'static str> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).ok()?;
    threads.filter_map(Result::ok).find_map(|thread| {
        let call = fs::read_to_string(thread.path().join("syscall")).ok()?;
        let number: u32 = call.split_whitespace().next()?.parse().ok()?;
        CALLS
            .iter()
            .find(|(known, _)| *known == number && cfg!(target_arch = "x86_64"))
            .map(|(_, name)| *name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::time::{Duration, Instant};

    #[test]
    fn a_process_that_sleeps_waits_in_a_call_that_sleeps() {
        let mut sleeper = Command::new("sleep").arg("60").spawn().unwrap();
        let patience = Instant::now() + Duration::from_secs(20);
        let mut found = None;
        // It has to start first.
        while found != Some("clock_nanosleep") && Instant::now() < patience {
            found = waits_in(sleeper.id());
        }
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        assert_eq!(found, Some("clock_nanosleep"));
        assert_eq!(waits_in(sleeper.id()), None, "it is gone");
    }
}
