package strategies

// User is what the sessions of one user share beside the cache. The zero value
// is a user without a past.
type User struct {
	// Ends are the times at which sessions of the user last had a response, ns
	// since the epoch, by index in the cohort; 0 for a session that has not begun.
	Ends []int64
	// Live are the sessions that have begun and not ended.
	Live []bool
	// Dream is the state of the consolidation that all sessions share.
	Dream Dream
}

// Dream is the lock file of the background consolidation: its time stands for
// the last one, its holder for who is at it.
type Dream struct {
	Last    int64 // ns since the epoch: the lock's mtime; 0 for never
	Scanned int64 // ns since the epoch: last look at the list of sessions
	Holder  int32 // 1 + index of the session that holds the lock, 0 for none
	Before  int64 // mtime ahead of the dream under way, for a roll back
}
