package strategies

// User is what the sessions of one user share beside the cache: those of one
// project, where the memory files lie. The zero value is a user without a past.
type User struct {
	// Ends are the times at which sessions of the user last had a response, ns
	// since the epoch, by the order of the sessions; 0 for a session that has not begun.
	Ends []int64
	// Live are the sessions that have begun and not ended.
	Live []bool
	// Dream is the state of the consolidation that all sessions share.
	Dream Dream
	// Memory is the index of the memory files that all sessions share.
	Memory MemoryIndex
}

// Dream is the lock file of the background consolidation: its time stands for
// the last one, its holder for who is at it.
type Dream struct {
	Last   int64 // ns since the epoch: the lock's mtime; 0 for never
	Holder int32 // 1 + index of the session that holds the lock, 0 for none
	Before int64 // mtime ahead of the dream under way, which another session may still see
}

// MemoryIndex is the file that lists the memory files, a line each (MEMORY.md).
type MemoryIndex struct {
	Lines  int32
	Change uint32 // how often it has changed
}

// lives reports whether a session has begun and not ended.
func (u *User) lives(session int32) bool {
	return session >= 0 && int(session) < len(u.Live) && u.Live[session]
}

// since counts the sessions but one that had a response behind a time, ns since
// the epoch; but is -1 to count all.
func (u *User) since(time int64, but int32) int {
	n := 0
	for i, end := range u.Ends {
		if end > time && int32(i) != but {
			n++
		}
	}
	return n
}
