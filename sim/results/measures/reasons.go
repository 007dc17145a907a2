package measures

// NotRun begins the reason of a layer that can do nothing in a session.
const NotRun = "not run: "

// NotFast begins the reason of a layer that asks another model than the fast one.
const NotFast = "asked the session's model: "
