//! Each way a line can be lost, and what a client finds when it dials again.

use serve::task_stream::{Cut, CutAt, Loss, Mode, Refusal, Repeat, Script, Step};

use crate::client::{Client, End, read, server, text, turn};

fn three() -> Script {
    turn([text("a"), text("b"), text("c")])
}

fn cut(record: usize, at: CutAt) -> Cut {
    Cut { record, at, loss: Loss::default() }
}

#[tokio::test]
async fn a_replay_after_a_cut_at_any_place_is_the_turn_in_full() {
    let server = server();
    for at in [CutAt::Before, CutAt::Inside, CutAt::After] {
        // The last is `task-ended`.
        for record in 0..6 {
            let task = server.tasks().create(Script { cuts: vec![cut(record, at)], ..three() });
            let (before, end) = Client::say(&server, task.id(), "hi").await.rest().await;
            assert_eq!((before.len(), end), (record + usize::from(at == CutAt::After), End::Cut), "{at:?} {record}");
            let (replay, end) = Client::dial(&server, task.id(), Mode::Attach).await.rest().await;
            assert_eq!((replay.len(), end), (6, End::Closed(1000)), "{at:?} {record}");
            assert_eq!(replay[..before.len()], before, "{at:?} {record}");
        }
    }
}

#[tokio::test]
async fn a_frame_of_any_length_is_cut_inside() {
    let server = server();
    for length in [1, 10_000, 100_000] {
        let script = Script { cuts: vec![cut(2, CutAt::Inside)], ..turn([text(&"x".repeat(length))]) };
        let task = server.tasks().create(script);
        let (frames, end) = Client::say(&server, task.id(), "hi").await.rest().await;
        assert_eq!((frames.len(), end), (2, End::Cut));
    }
}

#[tokio::test]
async fn cuts_at_one_place_happen_on_one_connection_after_the_other() {
    let server = server();
    let task = server.tasks().create(Script { cuts: vec![cut(2, CutAt::Before); 2], ..three() });
    assert_eq!(Client::say(&server, task.id(), "hi").await.rest().await.1, End::Cut);
    let ends = [End::Cut, End::Closed(1000)];
    for end in ends {
        assert_eq!(Client::dial(&server, task.id(), Mode::Attach).await.rest().await.1, end);
    }
}

#[tokio::test]
async fn a_line_is_closed_with_the_code_that_is_asked_for() {
    let server = server();
    for code in [1000, 1001, 1011, 4003] {
        let loss = Loss { close: Some(code), ..Loss::default() };
        let cuts = vec![Cut { record: 2, at: CutAt::After, loss }];
        let task = server.tasks().create(Script { cuts, ..three() });
        let (frames, end) = Client::say(&server, task.id(), "hi").await.rest().await;
        assert_eq!((frames.len(), end), (3, End::Closed(code)));
    }
}

#[tokio::test]
async fn a_line_is_dropped_on_command_after_what_was_sent() {
    let server = server();
    let task = server.tasks().create(turn([text("a"), Step::Hang]));
    for (close, end) in [(None, End::Cut), (Some(1012), End::Closed(1012))] {
        let mut client = if close.is_none() {
            Client::say(&server, task.id(), "hi").await
        } else {
            Client::dial(&server, task.id(), Mode::Attach).await
        };
        client.read_until("text a").await;
        task.drop_lines(&Loss { close, ..Loss::default() });
        assert_eq!(client.rest().await, (vec![], end));
    }
    assert_eq!((task.standing().dials, task.standing().open), (2, 0));
}

#[tokio::test]
async fn dials_are_refused_in_the_order_of_the_script() {
    let server = server();
    let refuse = vec![Refusal::Status(403), Refusal::Reset, Refusal::Status(500)];
    let task = server.tasks().create(Script { refuse, ..three() });
    let mut errors = Vec::new();
    for _ in 0..3 {
        let Err(error) = Client::try_dial(&server, task.id(), Mode::New).await else { panic!("no refusal") };
        errors.push(error.to_string());
    }
    assert_eq!(
        (errors[0].as_str(), errors[2].as_str()),
        ("HTTP error: 403 Forbidden", "HTTP error: 500 Internal Server Error")
    );
    assert!(errors[1].to_lowercase().contains("reset"), "{}", errors[1]);
    assert_eq!(Client::say(&server, task.id(), "hi").await.lines().await.len(), 6);
    assert_eq!(task.standing().dials, 4);
}

#[tokio::test]
async fn after_a_cut_dials_are_refused_or_the_server_is_gone() {
    let server = server();
    let refused = Loss { refuse: vec![Refusal::Status(503)], ..Loss::default() };
    let gone = Loss { gone: true, ..Loss::default() };
    let cuts =
        vec![Cut { record: 2, at: CutAt::After, loss: refused }, Cut { record: 3, at: CutAt::After, loss: gone }];
    let task = server.tasks().create(Script { cuts, ..three() });
    assert_eq!(Client::say(&server, task.id(), "hi").await.rest().await.0.len(), 3);
    assert!(Client::try_dial(&server, task.id(), Mode::Attach).await.is_err());
    assert_eq!(Client::dial(&server, task.id(), Mode::Attach).await.rest().await.0.len(), 4);
    for _ in 0..5 {
        assert!(Client::try_dial(&server, task.id(), Mode::Attach).await.is_err());
    }
}

#[tokio::test]
async fn records_are_repeated_as_they_are() {
    let server = server();
    for (repeat, length) in [(Repeat::Each(true), 12), (Repeat::Records(vec![2, 4]), 8)] {
        let task = server.tasks().create(Script { repeat, ..three() });
        let (mut frames, _) = Client::say(&server, task.id(), "hi").await.rest().await;
        assert_eq!(frames.len(), length);
        frames.dedup();
        assert_eq!(frames.len(), 6);
    }
}

#[tokio::test]
async fn records_change_places_live_and_stand_in_order_in_a_replay() {
    let server = server();
    // Nothing comes after the last: it is not held back for ever.
    let task = server.tasks().create(Script { swap: vec![2, 5], ..turn([text("a"), text("b"), text("c")]) });
    let (live, _) = Client::say(&server, task.id(), "hi").await.rest().await;
    let (mut replay, _) = Client::dial(&server, task.id(), Mode::Attach).await.rest().await;
    let lines: Vec<String> = live.iter().map(|frame| read(frame)).collect();
    assert_eq!(lines, ["user hi", "task-started", "text b", "text a", "text c", "task-ended"]);
    replay.swap(2, 3);
    assert_eq!(live, replay);
}

#[tokio::test]
async fn garbage_comes_between_the_frames() {
    let server = server();
    let garbage = [Step::Garbage("{\"type\":".into()), Step::GarbageBytes(vec![0, 255]), text("a")];
    let task = server.tasks().create(turn(garbage));
    let (frames, _) = Client::say(&server, task.id(), "hi").await.rest().await;
    assert_eq!(frames[2..4], ["{\"type\":", "binary"]);
    assert_eq!(read(&frames[4]), "text a");
}

#[tokio::test]
async fn a_replay_of_ten_thousand_chunks_is_complete() {
    let server = server();
    let steps: Vec<Step> = (0..10_000).map(|index| text(&format!("{index} "))).collect();
    for seq in [true, false] {
        let mut script = Script { cuts: vec![cut(7_000, CutAt::Inside)], ..turn(steps.clone()) };
        script.wire.seq = seq;
        let task = server.tasks().create(script);
        let (before, end) = Client::say(&server, task.id(), "hi").await.rest().await;
        assert_eq!((before.len(), end), (7_000, End::Cut));
        let (replay, end) = Client::dial(&server, task.id(), Mode::Attach).await.rest().await;
        assert_eq!((replay.len(), end), (10_003, End::Closed(1000)));
        assert!(replay[..before.len()] == before);
    }
}
