// Package recall holds what a strategy left of what later actions used: rows carry
// it.
package recall

// NeedKind is what an action used of what had been said before it.
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

// Artifact is what a conversation has to do with, and should still know of.
type Artifact uint8

// The types of artifact.
const (
	ArtifactEdited  Artifact = iota // a path that was edited or written
	ArtifactRead                    // a path that was read only
	ArtifactCommand                 // a command that was run
	ArtifactError                   // the result of a call that failed
	NumArtifacts    = 4
)

// ArtifactNames returns the names of the types, by value.
func ArtifactNames() []string { return []string{"edited", "read", "command", "error"} }

// NumDepths is how many numbers of compactions are told apart.
const NumDepths = 4

// Depths returns the numbers of compactions behind a conversation, by name.
func Depths() []string { return []string{"0", "1", "2", "3_or_more"} }

// Depth returns the place of a number of compactions among those of Needs.
func Depth(compactions int) int { return min(max(0, compactions), NumDepths-1) }

// Portion is a part of a whole.
type Portion struct{ Part, Whole int64 }

// NeedTally adds up needs by what became of them. Weights are in thousandths: a
// need of what stands in one block of a long session weighs 1,000.
type NeedTally struct {
	Count       int64
	Weight      int64
	Verbatim    int64 // weight of those in the context word for word
	Recoverable int64 // weight of those that are not, and can be fetched as they were
	Summarized  int64 // weight that modelled summaries keep of the others, as expected
	Most        int64 // the same at most: all that fits their size
}

// Kept returns the weight that is not gone.
func (n *NeedTally) Kept() int64 { return n.Verbatim + n.Recoverable + n.Summarized }

// Needs is what a strategy left of what later actions used. It is empty where the
// texts of the session were not looked at.
type Needs struct {
	Kinds        [NumNeedKinds]NeedTally
	Removed      int64              // tokens that compactions and clearings took out
	Instructions [NumDepths]Portion // directing sentences of the person over all requests: those there word for word
	Summarized   int64              // of Instructions, those that only a summary can have
	Artifacts    [NumArtifacts]Portion
	ByDepth      [NumDepths]Portion // artifacts by compactions behind the conversation
	Fetches      int64
	RefetchUSD   float64 // of fetching what is recoverable, beside the cost
	// Closed is what the row costs in an open loop and at both ends of the interval of what agents fetch, USD; zero
	// but in a closed loop.
	Closed Closed
	// Apart has a bit for each way to choose what is fetched, sim.Refetch, in which the agent would have done otherwise
	// somewhere. It is known of a closed loop as fitted, and no part of what is written.
	Apart uint8
}

// Closed holds a closed loop against others: see Needs.
type Closed struct{ OpenUSD, LowUSD, HighUSD float64 }

// Known reports whether the loop is closed.
func (c *Closed) Known() bool { return *c != (Closed{}) }

// Total returns the sum over all kinds.
func (n *Needs) Total() (t NeedTally) {
	for k := range n.Kinds {
		k := &n.Kinds[k]
		t.Count, t.Weight, t.Verbatim = t.Count+k.Count, t.Weight+k.Weight, t.Verbatim+k.Verbatim
		t.Recoverable, t.Summarized, t.Most = t.Recoverable+k.Recoverable, t.Summarized+k.Summarized, t.Most+k.Most
	}
	return t
}
