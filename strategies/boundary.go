package strategies

// BoundaryKind says what a layer did to the context.
type BoundaryKind uint8

// Things a layer does to the context.
const (
	BoundaryNone     BoundaryKind = iota
	BoundaryCompact               // messages replaced by a summary
	BoundaryMicro                 // tool results cleared
	BoundaryTruncate              // messages dropped
	BoundaryServer                // content cleared by the server for each request
	BoundaryStore                 // new tool results put to disk, or read back from there
)

var boundaryNames = [...]string{"none", "compaction", "microcompaction", "truncation", "server clearing", "storage"}

// String returns the lower-case name used in reports.
func (k BoundaryKind) String() string { return boundaryNames[min(int(k), len(boundaryNames)-1)] }

// Compacts reports whether rows count it as a compaction: messages went, with a
// summary in their place or without one.
func (k BoundaryKind) Compacts() bool { return k == BoundaryCompact || k == BoundaryTruncate }

// Boundary is what a compaction reports about itself. Counts are tokens.
type Boundary struct {
	Kind   BoundaryKind
	Manual bool
	// Replayed says that the recording did it: what it left is not the
	// layer's doing.
	Replayed bool
	Before   int64 // context before it, by the server's count
	After    int64 // context after it
	Chained  bool  // the compacted context already held a summary
	// Reported is what the client tells as its size afterwards: After, or
	// the usage of the summary call where the client takes that for it. Left
	// 0, it is After.
	Reported int64
	// Uncounted is how much a clearing takes off the client's count at once,
	// ahead of the next response's usage.
	Uncounted int64
	Cleared   int   // tool results cleared
	Deleted   int64 // tokens deleted by the server with the cached prefix kept
	Restored  int   // files that came back
	Calls     int   // summary calls made, failed ones included
	Retries   int   // of them, repetitions with the oldest rounds dropped
	Fallbacks int   // changes to another way of making the call
	// Summarised are the messages that were replaced: a response, a prompt or a
	// tool result each.
	Summarised int
	// PreservedFrom and PreservedTo are the ids of the first and the last
	// message entry that were kept as they are, both 0 when none was. Parent is
	// that of the last entry ahead of the compaction.
	PreservedFrom, PreservedTo int32
	Parent                     int32
	// Since are the requests since the compaction before, or since the thread
	// began; Threshold is the level that started this one, 0 for none.
	Since     int64
	Threshold int64
}
