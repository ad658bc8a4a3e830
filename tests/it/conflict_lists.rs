//! Conflicts are listed, and told with both payloads.

use oncehook::operate::{ConflictQuery, OperateError};

use crate::support::{app::TestApp, desk::desk_of};

#[tokio::test]
async fn conflicts_are_listed_and_told_with_both_payloads() {
    let app = TestApp::start().await;
    let sender = app.sender();
    for id in ["one", "two"] {
        for body in ["{\"a\":1}", "{\"a\":2}", "{\"a\":3}"] {
            sender.github("push", body).id(id).send().await;
        }
    }
    app.run_until_idle().await;
    let desk = desk_of(app.app().context());
    let mut query = ConflictQuery { limit: Some(3), ..ConflictQuery::default() };
    let first = desk.conflicts(&query).await.unwrap();
    query.cursor = first.next;
    let second = desk.conflicts(&query).await.unwrap();
    assert_eq!((first.items.len(), second.items.len(), second.next), (3, 1, None));
    assert!(first.items[0].conflict > first.items[2].conflict && first.items[2].conflict > second.items[0].conflict);

    let of_one = ConflictQuery {
        delivery_id: Some("one".to_owned()),
        source: Some("github".to_owned()),
        ..ConflictQuery::default()
    };
    let lines = desk.conflicts(&of_one).await.unwrap().items;
    assert_eq!(lines.len(), 2);
    let story = desk.conflict(lines[0].conflict).await.unwrap();
    assert_eq!(story.first.unwrap().body, b"{\"a\":1}");
    assert_eq!(story.other.body, b"{\"a\":3}");
    assert_eq!(story.line, lines[0]);
    for (promoted, count) in [(true, 0), (false, 4)] {
        let query = ConflictQuery { promoted: Some(promoted), ..ConflictQuery::default() };
        assert_eq!(desk.conflicts(&query).await.unwrap().items.len(), count);
    }
    assert!(matches!(desk.conflict(4_711).await, Err(OperateError::NotFound { .. })));
}
