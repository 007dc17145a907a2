package results

// Level is what the client shows a person of how full the window is.
type Level uint8

// The levels, each without those above it.
const (
	LevelNormal   Level = iota
	LevelWarning        // the client warns
	LevelError          // the warning is red
	LevelBlocking       // the client takes no input
	NumLevels     = 4
)

var levelNames = [NumLevels]string{"normal", "warning", "error", "blocking"}

// String returns the lower-case name used in reports.
func (l Level) String() string { return levelNames[min(int(l), NumLevels-1)] }

// Wait is a part of the time that context management adds for a person.
type Wait uint8

// The parts of the added time.
const (
	WaitCompaction Wait = iota // for calls of a compaction
	WaitFirstToken             // for first tokens that come later, or, when negative, earlier
	WaitOther                  // for other calls that block the conversation, and for background calls
	NumWaits       = 3
)

var waitNames = [NumWaits]string{"compaction", "first_token", "other"}

// String returns the lower-case name used in reports.
func (w Wait) String() string { return waitNames[min(int(w), NumWaits-1)] }

// Left sums up how much of its limit a client shows as left, per cent.
type Left struct {
	Calls int   // calls of main conversations
	Sum   int64 // of the per cents at those calls
	Used  int   // most used at one of them: 100 less the least left
}

// See adds a call at which percent were left, 0…100.
func (l *Left) See(percent int) {
	l.Calls++
	l.Sum += int64(percent)
	l.Used = max(l.Used, 100-percent)
}

// add adds the calls of m.
func (l *Left) add(m *Left) {
	l.Calls += m.Calls
	l.Sum += m.Sum
	l.Used = max(l.Used, m.Used)
}
