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

// Portion is a part of a whole: figures Part and Whole.
type Portion [portion]float64

// The figures of a Portion.
const (
	Part = iota
	Whole
	portion
)

// NeedTally adds up needs by their state, in the figures that follow. Weights are in
// thousandths: a need of a string in a single block of a long session weighs 1,000.
type NeedTally [tally]float64

// The figures of a NeedTally.
const (
	Count = iota
	Weight
	Verbatim    // weight of those in the context word for word
	Recoverable // weight of others that can be fetched again unchanged
	Summarized  // weight of the rest that modelled summaries are expected to keep
	Most        // the largest possible Summarized: all that fits their size
	tally
)

// Kept returns the weight that is not gone.
func (n *NeedTally) Kept() float64 { return n[Verbatim] + n[Recoverable] + n[Summarized] }

// Needs is what a strategy left of what later actions used: a stretch of the figures of a
// row. It is empty if the texts of the session were not examined.
type Needs [NumFigures]float64

// Where the figures of Needs are.
const (
	Kinds        = 0                                // a NeedTally for each kind
	Instructions = Kinds + NumNeedKinds*tally       // the person's directing sentences over all requests, by depth; Part: those there word for word
	Artifacts    = Instructions + NumDepths*portion // a Portion for each type
	ByDepth      = Artifacts + NumArtifacts*portion // artifacts by number of compactions before the conversation
	Removed      = ByDepth + NumDepths*portion      // tokens that compactions and clearings removed
	Directed     = Removed + 1                      // of Instructions, those that only a summary can have
	Fetches      = Directed + 1                     // calls that fetch again what was forgotten
	LeftOut      = Fetches + 1                      // recorded calls that did, and are not made as nothing was forgotten
	NumFigures   = LeftOut + 1
)

// Kind returns the needs of a kind.
func (n *Needs) Kind(k NeedKind) *NeedTally {
	return (*NeedTally)(n[Kinds+int(k)*tally:])
}

// Portion returns the one with an index from a place on: Instructions, Artifacts or ByDepth.
func (n *Needs) Portion(from, i int) *Portion { return (*Portion)(n[from+i*portion:]) }

// Sum returns the sum of the portions from a place on: Instructions or Artifacts.
func (n *Needs) Sum(from int) (sum Portion) {
	for i := range NumArtifacts { // as many as there are depths
		for j, v := range n.Portion(from, i) {
			sum[j] += v
		}
	}
	return sum
}

// Total returns the sum over all kinds.
func (n *Needs) Total() (t NeedTally) {
	for k := range NeedKind(NumNeedKinds) {
		for i, v := range n.Kind(k) {
			t[i] += v
		}
	}
	return t
}
