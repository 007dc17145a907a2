//go:build !nosqlite

package sqlite

import (
	// The driver is SQLite itself, translated to Go: no cgo, and eight megabytes of source. The race detector and fuzzing,
	// which compile everything anew, build without it (-tags nosqlite) and open no database. docs/performance.md says why this one.
	_ "modernc.org/sqlite"
)
