// Package prompt is the vocabulary of the simulator: what a request to a model
// is made of (blocks, entries, edits), what comes back (usage), and the context
// that a strategy edits between calls.
//
// It knows no agent, no provider and no price. Token counts are true tokens
// (what the server would count) unless a name says estimate; times are int64
// nanoseconds on the simulated clock.
package prompt

// EditCause says what changed a prefix.
type EditCause uint8

// The causes of a changed prefix.
const (
	CauseNone       EditCause = iota
	CauseEdit                 // content cleared or replaced in place
	CauseCompaction           // messages replaced by a summary
	CauseRewind               // the conversation went back
	CauseHead                 // tools or system changed
)

var causeNames = [...]string{"none", "edit", "compaction", "rewind", "head"}

// String returns the lower-case name used in reports.
func (c EditCause) String() string { return causeNames[min(int(c), len(causeNames)-1)] }

// Change is the first position at which a request differs from what its
// thread sent before, appended entries aside.
type Change struct {
	At    int32 // index of the first changed entry; -1 when nothing changed
	Cause EditCause
}

// NoChange is the Change of a request that only appends.
var NoChange = Change{At: -1}
