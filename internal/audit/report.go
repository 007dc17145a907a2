package audit

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// Schema numbers the form of a report as JSON.
const Schema = 1

// Report is a bill explained. Amounts are USD at API prices, counts of tokens
// are tokens, lists are sorted by USD, the largest first, unless they say else.
type Report struct {
	Schema   int    `json:"schema"` // Schema
	Sessions int    `json:"sessions"`
	From     string `json:"from"` // day of the first call, UTC; "" when no call has a time
	Until    string `json:"until"`
	Total    Sum    `json:"total"`
	// LoggedOutputUSD is what the outputs cost as logged; the bill has the counts
	// that were derived where the logged ones are not final.
	LoggedOutputUSD float64 `json:"logged_output_usd"`

	Splits   []Split   `json:"splits"`
	Findings []Finding `json:"findings"`
	Misses   []Miss    `json:"misses"`
	Detector []Said    `json:"detector"` // by reason, in the order of the reasons

	Lifetimes   []Lifetime   `json:"lifetimes"`
	Compactions []Compaction `json:"compactions"` // by what they lost, the largest first
	Unread      []Unread     `json:"unread"`
	Content     []Content    `json:"content"`
	Results     []Carried    `json:"largest_results"`
	Duplicates  []Carried    `json:"duplicate_reads"`
	Defects     []Defect     `json:"defects"`
	Reconciled  *Reconciled  `json:"reconciled,omitempty"`

	days map[dayModel]*Sum
}

// Sum adds up calls.
type Sum struct {
	Calls      int   `json:"calls"`
	Uncached   int64 `json:"input_uncached_tokens"`
	Read       int64 `json:"cache_read_tokens"`
	Write5m    int64 `json:"cache_write_5m_tokens"`
	Write1h    int64 `json:"cache_write_1h_tokens"`
	WriteOther int64 `json:"cache_write_other_tokens"`
	Output     int64 `json:"output_tokens"`
	// Limited is what counts against the input rate limit: tokens that were not
	// read from the cache (platform.claude.com, rate limits).
	Limited int64   `json:"rate_limit_tokens"`
	USD     float64 `json:"cost_usd"`
}

func (s *Sum) add(u *prompt.Usage, cost *results.Cost) {
	s.Calls++
	s.Uncached += u.Uncached
	s.Read += u.Read
	s.Write5m += u.Write5m
	s.Write1h += u.Write1h
	s.WriteOther += u.WriteOther
	s.Output += u.Output
	s.Limited += u.Uncached + u.Writes()
	s.USD += cost.Total()
}

// Plus adds the calls of t.
func (s *Sum) Plus(t *Sum) {
	s.Calls += t.Calls
	s.Uncached += t.Uncached
	s.Read += t.Read
	s.Write5m += t.Write5m
	s.Write1h += t.Write1h
	s.WriteOther += t.WriteOther
	s.Output += t.Output
	s.Limited += t.Limited
	s.USD += t.USD
}

// Input returns all input tokens.
func (s *Sum) Input() int64 { return s.Uncached + s.Read + s.Write5m + s.Write1h + s.WriteOther }

// Split is the bill by one property of calls. Its lines add up to the total.
type Split struct {
	By    string `json:"by"` // class, model, source, project, day or session
	Lines []Line `json:"lines"`
}

// Line is one value of a property.
type Line struct {
	Name string `json:"name"`
	Sum
}

// Place is a line of a recording.
type Place struct {
	Session string  `json:"session"`
	File    string  `json:"file"`
	Line    int     `json:"line"`
	USD     float64 `json:"cost_usd"`
	Text    string  `json:"text,omitempty"` // what is there
}

// Finding is something that cost money and what can be done about it.
type Finding struct {
	Name   string  `json:"name"`  // for machines
	Title  string  `json:"title"` // one line for people
	USD    float64 `json:"cost_usd"`
	Count  int     `json:"count"`
	Tokens int64   `json:"tokens"`
	// Saves is what the best of the advice would have saved by the arithmetic of
	// lifetimes or sizes, nil when that cannot be told without simulating. Error is
	// how far the same arithmetic is from the bill, in USD, for savings by lifetime.
	Saves  *float64 `json:"saves_usd"`
	Error  *float64 `json:"model_error_usd"`
	Advice []Advice `json:"advice"`
	Agents []Share  `json:"agents,omitempty"` // of the cost, by the agent whose calls they are
	Notes  []string `json:"notes,omitempty"`
	Oldest string   `json:"oldest_version,omitempty"` // of the clients concerned
	Newest string   `json:"newest_version,omitempty"`
	Places []Place  `json:"places"`
}

// Share is what of a finding belongs to the sessions of one agent.
type Share struct {
	Agent string  `json:"agent"`
	USD   float64 `json:"cost_usd"`
}

// Advice is something to do.
type Advice struct {
	// Setting is the line to write, exactly: an environment variable, a setting or
	// a command; "" when there is none.
	Setting string `json:"setting,omitempty"`
	From    string `json:"from_version,omitempty"` // first client version that knows it; "" when no source says
	Text    string `json:"text"`
	// Agent is the one the advice is for and USD its share of the finding; "" and 0
	// where the finding is about one agent alone, or the advice for any.
	Agent string  `json:"agent,omitempty"`
	USD   float64 `json:"cost_usd,omitzero"`
	// Saves is what the setting would have saved over all calls that it touches,
	// those of other findings included, USD; Error is how far the arithmetic is from
	// the bill for the calls it changes. Nil where no arithmetic tells.
	Saves *float64 `json:"saves_usd,omitempty"`
	Error *float64 `json:"model_error_usd,omitempty"`

	lives scope
}

// Miss is what was missed for one cause.
type Miss struct {
	Cause  Cause   `json:"cause"`
	Calls  int     `json:"calls"`
	Tokens int64   `json:"tokens"`
	USD    float64 `json:"cost_usd"` // for writing what could have been read
}

// Said counts what the break detector says.
type Said struct {
	Reason string  `json:"reason"`
	Calls  int     `json:"calls"`
	Missed int     `json:"calls_that_missed"` // of these, those that read less than the call before had left
	Tokens int64   `json:"missed_tokens"`
	USD    float64 `json:"cost_usd"`
	// Causes are the calls that missed by what the recording tells, which the
	// detector does not see: events of the log, and lifetimes that were billed.
	Causes map[Cause]int `json:"causes,omitempty"`
}

// Defect is something in the input that limits what can be said.
type Defect struct {
	Kind  string   `json:"kind"`
	Text  string   `json:"text"`
	Count int      `json:"count"`
	Names []string `json:"names"` // sessions, models or projects concerned
}
