// Package recall has the figures of rows about what a strategy left of what
// later actions used.
package recall

// NeedKind is the kind of what an action used.
type NeedKind uint8

// The kinds of need.
const (
	NeedEdit     NeedKind = iota // the text that an edit replaces
	NeedPath                     // a path
	NeedRead                     // the content of a file that is read again unchanged
	NeedName                     // an identifier
	NeedNumber                   // a number of four digits or more
	NeedURL                      // an address
	NeedError                    // a line of a failed result
	NeedTask                     // an item of a plan that is taken up
	NumNeedKinds = 8
)

var needNames = [NumNeedKinds]string{"edit", "path", "read", "name", "number", "url", "error", "task"}

// NeedNames returns the names of the kinds, by value.
func NeedNames() []string { return needNames[:] }

// String returns the lower-case name used in reports.
func (k NeedKind) String() string { return needNames[min(int(k), NumNeedKinds-1)] }

// Artifact is a kind of thing that a conversation works on and should still know.
type Artifact uint8

// The types of artifact.
const (
	ArtifactEdited  Artifact = iota // a path that was edited or written
	ArtifactRead                    // a path that was only read
	ArtifactCommand                 // a command that was run
	ArtifactError                   // the result of a call that failed
	NumArtifacts    = 4
)

// ArtifactNames returns the names of the types, by value.
func ArtifactNames() []string { return []string{"edited", "read", "command", "error"} }

// NumDepths is the number of classes of compaction counts.
const NumDepths = 4

// Depths returns the names of the classes of compaction counts.
func Depths() []string { return []string{"0", "1", "2", "3_or_more"} }

// Depth returns the class of a number of compactions.
func Depth(compactions int) int { return min(max(0, compactions), NumDepths-1) }

// Portion is a part of a whole.
type Portion struct{ Part, Whole int64 }

// NeedTally adds up needs by their state. Weights are in thousandths: a need of
// a string in a single block of a long session weighs 1,000.
type NeedTally struct {
	Count       int64
	Weight      int64
	Verbatim    int64 // weight of those in the context word for word
	Recoverable int64 // weight of others that can be fetched again unchanged
	Summarized  int64 // weight of the rest that modelled summaries are expected to keep
	Most        int64 // the largest possible Summarized: all that fits their size
}

// Kept returns the weight that is not gone.
func (n *NeedTally) Kept() int64 { return n.Verbatim + n.Recoverable + n.Summarized }

// Needs is what a strategy left of what later actions used. It is empty if the
// texts of the session were not examined.
type Needs struct {
	Kinds        [NumNeedKinds]NeedTally
	Removed      int64              // tokens that compactions and clearings removed
	Instructions [NumDepths]Portion // the person's directing sentences over all requests; Part: those there word for word
	Summarized   int64              // of Instructions, those that only a summary can have
	Artifacts    [NumArtifacts]Portion
	ByDepth      [NumDepths]Portion // artifacts by number of compactions before the conversation
	Fetches      int64
}

// Total returns the sum over all kinds.
func (n *Needs) Total() (t NeedTally) {
	for k := range n.Kinds {
		k := &n.Kinds[k]
		t.Count, t.Weight, t.Verbatim = t.Count+k.Count, t.Weight+k.Weight, t.Verbatim+k.Verbatim
		t.Recoverable, t.Summarized, t.Most = t.Recoverable+k.Recoverable, t.Summarized+k.Summarized, t.Most+k.Most
	}
	return t
}
