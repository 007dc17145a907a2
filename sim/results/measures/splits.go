package measures

// Class is a token class that is billed at its own price.
type Class uint8

// Token classes.
const (
	ClassUncached Class = iota
	ClassRead
	ClassWrite5m
	ClassWrite1h
	ClassWriteOther
	ClassOutput
	NumClasses = 6
)

// ClassNames are the names of the token classes in rows and reports, by Class.
var ClassNames = [NumClasses]string{"uncached", "read", "write_5m", "write_1h", "write_other", "output"}

// String returns the lower-case name used in reports.
func (c Class) String() string { return ClassNames[min(int(c), NumClasses-1)] }

// Source is who made a call.
type Source uint8

// Sources of calls.
const (
	SourceMain          Source = iota // the main conversation
	SourceAgent                       // a sub-agent
	SourceBranch                      // a branch that was abandoned later
	SourceCompact                     // a summary call of a compaction
	SourceAdvisor                     // a model that another one asked while it answered
	sourceSessionMemory               // an update of the session memory
	sourceMemory                      // an extraction of memories at the end of a loop
	sourceDream                       // a consolidation of memories
	sourceSuggestion                  // a suggestion of the next prompt
	sourceSpeculation                 // a speculative answer to it
	sourceAgentSummary                // a summary of a sub-agent at work
	SourceReread                      // a response that reads stored content back, or brings what is missing
	SourceKeepalive                   // a request that only keeps entries alive
	SourceOther                       // any other call that a layer made, and calls that no log shows
	NumSources          = int(SourceOther) + 1
)

// SourceNames are the names of the sources of calls in rows and reports, by Source.
var SourceNames = [NumSources]string{
	"main", "agent", "branch", "compact", "advisor", "session_memory", "extract_memories", "dream", "prompt_suggestion",
	"speculation", "agent_summary", "reread", "keepalive", "other",
}

// SourceOf returns the source of a call that a layer makes under a query source
// as the client names it, SourceOther for names without one of their own.
func SourceOf(name string) Source {
	for i := SourceCompact; i < SourceOther; i++ {
		if SourceNames[i] == name {
			return i
		}
	}
	return SourceOther
}

// String returns the lower-case name used in reports.
func (s Source) String() string { return SourceNames[min(int(s), NumSources-1)] }

// Level is how full the client shows the window to be.
type Level uint8

// The levels, each without those above it.
const (
	LevelNormal   Level = iota
	LevelWarning        // the client warns
	LevelError          // the warning is red
	LevelBlocking       // the client takes no input
	NumLevels     = 4
)

// LevelNames are the names of the levels in rows and reports, by Level.
var LevelNames = [NumLevels]string{"normal", "warning", "error", "blocking"}

// String returns the lower-case name used in reports.
func (l Level) String() string { return LevelNames[min(int(l), NumLevels-1)] }

// Sharing says who shares a part of the input of a call.
type Sharing uint8

// The parts of the input, in their order.
const (
	SharingGlobal       Sharing = iota // every organisation: through the last marker for everyone
	SharingOrganisation                // the users of an organisation: through the last marker ahead of the messages
	SharingNone                        // the session alone: the rest
	NumSharings         = 3
)

// What is counted of a part, by its place in the two figures of a Sharing.
const (
	SharedRead    ID = 0
	SharedWritten ID = 1
)

// Wait is a part of the time that context management adds for a person.
type Wait uint8

// The parts of the added time.
const (
	WaitCompaction Wait = iota // for calls of a compaction
	WaitFirstToken             // for first tokens that come later or, when negative, earlier
	WaitOther                  // for other calls that block the conversation and for background calls
	NumWaits       = 3
)

// WaitNames are the names of the parts of the added time in rows and reports, by Wait.
var WaitNames = [NumWaits]string{"compaction", "first_token", "other"}

// String returns the lower-case name used in reports.
func (w Wait) String() string { return WaitNames[min(int(w), NumWaits-1)] }
