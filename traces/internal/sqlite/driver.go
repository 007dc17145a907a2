//go:build !nosqlite

package sqlite

// The driver is SQLite itself, translated to Go: no cgo, and eight megabytes of source. The race detector and fuzzing compile
// everything anew and build without it (-tags nosqlite); no database can be opened then. docs/performance.md says why this one.
import _ "modernc.org/sqlite"
