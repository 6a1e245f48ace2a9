//! What was predicted from schedules that passed, in words.
use super::interleaving::called;
use super::words::counted;
use crate::run::wire::{Location, Prediction, PredictionKind, PredictionVerdict, Suspect};

/// One line: what may happen, and what became of it.
pub fn headline(prediction: &Prediction) -> String {
    let what = match prediction.kind {
        PredictionKind::LockOrder => "locks are taken in a cyclic order",
        PredictionKind::Atomicity => "another thread may come between two accesses",
        PredictionKind::AtomicityOfTwo => "another thread may see one of two changes without the other",
        PredictionKind::LostWakeup => "a wake-up may come before the wait for it",
        PredictionKind::Conflict => "two accesses may come in the other order",
        PredictionKind::Unknown => "something may go wrong",
    };
    format!("{what} ({})", verdict(prediction))
}

/// What became of it.
pub fn verdict(prediction: &Prediction) -> String {
    let hunts = prediction.hunts;
    match prediction.verdict {
        PredictionVerdict::Confirmed => "CONFIRMED".to_owned(),
        PredictionVerdict::Refuted => "REFUTED: no schedule fails".to_owned(),
        PredictionVerdict::NotReproduced if hunts == 0 => "not hunted".to_owned(),
        PredictionVerdict::NotReproduced => {
            format!("NOT REPRODUCED in {}", counted(hunts, "directed schedule"))
        }
    }
}

/// The places, a line each, in the order in which they would be executed.
pub fn places(prediction: &Prediction) -> Vec<String> {
    prediction.places.iter().map(place).collect()
}

fn place(suspect: &Suspect) -> String {
    let Location { file, line, column } = &suspect.site;
    let thread = called(&suspect.name, &suspect.thread);
    format!("`{thread}`: {} at {file}:{line}:{column}", suspect.op)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prediction_says_what_where_and_what_became_of_it() {
        let text = r#"{"kind":"lock-order","verdict":"not-reproduced","hunts":2,"places":[
            {"thread":"0.1","name":"buyer","op":"lock","site":{"file":"src/a.rs","line":7,"column":3}},
            {"thread":"0.2","op":"unlock","site":{"file":"src/a.rs","line":8,"column":3}}]}"#;
        let prediction: Prediction = serde_json::from_str(text).unwrap();
        let told = headline(&prediction);
        assert_eq!(told, "locks are taken in a cyclic order (NOT REPRODUCED in 2 directed schedules)");
        let expected = ["`buyer`: lock at src/a.rs:7:3", "`thread 0.2`: unlock at src/a.rs:8:3"];
        assert_eq!(places(&prediction), expected);
        let newer = text.replace("lock-order", "something-new");
        assert_eq!(serde_json::from_str::<Prediction>(&newer).unwrap().kind, PredictionKind::Unknown);
    }
}
