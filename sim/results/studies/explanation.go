package studies

// Explanation says what one strategy did on one session, call by call, and
// why.
type Explanation struct {
	Schema   int             `json:"schema"`
	Session  string          `json:"session"`
	Strategy string          `json:"strategy"`
	Agent    string          `json:"agent"`
	Version  string          `json:"version"`
	Window   int64           `json:"window_tokens"`
	Calls    []ExplainedCall `json:"calls"`
	TurnEnds TurnEnds        `json:"turn_ends,omitzero"`
	// BilledUSD is logged usage × price. ModelUSD is what the model makes of the recording, and
	// ModelHiddenUSD the part for calls that no log has.
	BilledUSD      float64 `json:"billed_usd"`
	ModelUSD       float64 `json:"model_usd"`
	ModelHiddenUSD float64 `json:"model_hidden_usd"`
}

// TurnEnds are the calls that the client is expected to make beside the conversation, such as at the end of turns, and that
// no log shows. They have no number.
type TurnEnds struct {
	Calls   int     `json:"calls"`
	CostUSD float64 `json:"cost_usd"`
}

// ExplainedCall is one call with what led to it and how the server served it.
// Times are seconds on the session's clock, tokens true tokens.
type ExplainedCall struct {
	Number   int     `json:"call"` // from 1, in the order of requests
	Thread   string  `json:"thread"`
	Kind     string  `json:"thread_kind"`
	Round    int     `json:"round"` // of the thread; a layer's call was made before this round
	Source   string  `json:"source"`
	Layer    string  `json:"layer,omitzero"` // layer that made the call; empty for the conversation's own
	Trigger  string  `json:"after"`          // what the conversation's call answers
	Model    string  `json:"model"`
	File     string  `json:"file,omitzero"`
	Line     int     `json:"line,omitzero"`
	Start    float64 `json:"start_seconds"`
	End      float64 `json:"end_seconds"`
	Idle     float64 `json:"idle_seconds"` // since the thread's last response ended
	Steps    []Step  `json:"steps,omitempty"`
	Change   *Edited `json:"change,omitempty"` // first change in what had been sent
	Context  int64   `json:"context_tokens"`
	Uncached int64   `json:"uncached_tokens"`
	Read     int64   `json:"read_tokens"`
	Write5m  int64   `json:"write_5m_tokens"`
	Write1h  int64   `json:"write_1h_tokens"`
	Output   int64   `json:"output_tokens"`
	Expected int64   `json:"expected_tokens"`   // the thread's best prefix would have read
	Miss     string  `json:"miss"`              // class of the shortfall, "none"
	Detector string  `json:"detector,omitzero"` // the client's break detector on a break, "" for none
	First    bool    `json:"first"`             // first call of its thread
	CostUSD  float64 `json:"cost_usd"`
	Again    bool    `json:"again,omitzero"`   // the agent fetches again, in a call that no recording has
	Billed   *Billed `json:"billed,omitempty"` // the recorded call; nil for one that no log has
	// Segments are the request's entries in order, joined while kind, form
	// and cache class stay the same: of the call that was asked for.
	Segments []Segment `json:"segments,omitempty"`
}

// Shortfall returns the tokens expected from the cache and not read.
func (c *ExplainedCall) Shortfall() int64 { return max(0, c.Expected-c.Read) }

// Split is how the input of a call was served, what it cost, and what it missed.
type Split struct {
	Uncached int64   `json:"uncached_tokens"`
	Read     int64   `json:"read_tokens"`
	Write5m  int64   `json:"write_5m_tokens"` // or of a lifetime that the log does not say
	Write1h  int64   `json:"write_1h_tokens"`
	CostUSD  float64 `json:"cost_usd"`
	Left     int64   `json:"left_tokens"`   // that the call before had left in the cache
	Missed   int64   `json:"missed_tokens"` // of these, sent again and not read
	Cause    string  `json:"miss"`          // class of the miss, "none"
}

// Billed is what was billed for a recorded call, and what the cache model expects for it.
type Billed struct {
	Split
	Output   int64   `json:"output_tokens"`
	Logged   int64   `json:"logged_output_tokens"`
	MissUSD  float64 `json:"miss_usd"`          // for writing what was missed
	Evidence string  `json:"evidence,omitzero"` // of the cause
	// Confidence says how the cause is known, as calls.Confidence does; empty for none.
	Confidence string `json:"confidence,omitzero"`
	Server     string `json:"server,omitzero"` // its verdict on the prefix if it names a difference
	New        int64  `json:"new_tokens"`      // that no earlier request had
	Unseen     int64  `json:"unseen_tokens"`   // of these, in no line of the recording
	Model      *Split `json:"model,omitempty"` // nil for a call that the model does not reach
	// Notes say how well the call is counted, and what other models did while it was answered.
	Notes []string `json:"notes,omitempty"`
}

// Step is one thing that happened before a call: a trigger that was evaluated,
// a layer that answered, or a change of the context.
type Step struct {
	Layer   string `json:"layer"`
	Hook    string `json:"hook,omitzero"`
	Measure string `json:"measure,omitzero"` // of a trigger
	// Measured was compared with Value, ≥; Fired is the result.
	Measured int64  `json:"measured,omitzero"`
	Value    int64  `json:"value,omitzero"`
	Fired    bool   `json:"fired,omitzero"`
	Verdict  string `json:"verdict,omitzero"` // of a hook: done, declined, failed, pending
	Reason   string `json:"reason,omitzero"`
	Boundary string `json:"boundary,omitzero"` // what happened to the context: compaction, microcompaction, truncation
	Before   int64  `json:"before_tokens,omitzero"`
	After    int64  `json:"after_tokens,omitzero"`
	// Remainder are the tokens of After that recordings have beyond what the client is known to restore.
	Remainder int64 `json:"remainder_tokens,omitzero"`
	Chained   bool  `json:"chained,omitzero"` // the compacted context already held a summary
}

// Edited is where a request first differs from the previous one of its thread.
type Edited struct {
	Position int    `json:"position"` // entry, from 0
	Kind     string `json:"kind"`     // of the entry now there
	Cause    string `json:"cause"`
	Ahead    int64  `json:"unchanged_tokens"` // tokens before it
	Behind   int64  `json:"behind_tokens"`    // tokens from it on
}

// Segment is a run of entries of a request.
type Segment struct {
	Kind   string `json:"kind"`
	Form   string `json:"form,omitzero"` // "" for verbatim
	Blocks int    `json:"blocks"`
	Tokens int64  `json:"tokens"`
	Class  string `json:"class"`           // read, write_5m, write_1h, uncached
	Marker bool   `json:"marker,omitzero"` // a cache marker follows its last entry
}
