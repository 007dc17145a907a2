package synthetic

import "github.com/compactsim/compactsim/sim/prompt"

// Session is a planned session: what every call read, wrote and took, without
// its text. Text is made from the plan when it is written.
type Session struct {
	profile Profile
	dice    dice
	id      string
	files   []file
	threads []thread // the main thread first, agents in order of their start
}

// thread is one conversation.
type thread struct {
	agent  string // agent id, "" for the main thread
	model  string
	tools  []Tool
	static int // tokens of tools and system prompt
	calls  []call
}

// call is one API call.
type call struct {
	id      int         // ordinal in the session, from 1
	compact *compaction // happened before this call
	input   []block     // a prompt or the results of the previous call's tools
	reply   []block
	usage   prompt.Usage
	logged  int   // output tokens of the stream's start
	at      int64 // unix ns of the request
	end     int64 // unix ns of the response's end
	endTurn bool  // answers the prompt: no tools follow
}

// context returns the tokens of the context once the response has been added.
func (c *call) context() int { return int(c.usage.Input() + c.usage.Output) }

// block is one content block.
type block struct {
	kind    prompt.Kind
	failed  bool // result of a tool call that failed
	tool    int  // index into the thread's tools, for tool uses and results
	call    int  // pairs a tool use with its result: ordinal in the session, from 1
	tokens  int
	bytes   int   // length of the text
	at      int64 // unix ns of its line
	words   uint64
	object  int // index into Session.files, -1 for none
	version int // edits made to the file before
	from    int // first line read, from 1
	limit   int // lines read; 0 is the whole file
	agent   int // index into Session.threads of the agent a Task starts, 0 for none
}

// compaction is an automatic compaction of the recording's client.
type compaction struct {
	preTokens int // the client's count that passed the threshold
	summary   block
	at        int64 // unix ns of the boundary
}

// file is one member of the working set.
type file struct {
	path   string
	tokens int
	bytes  int
	edits  int
}

// ID returns the session id, a UUID.
func (s *Session) ID() string { return s.id }

// NumCalls returns the API calls over all threads.
func (s *Session) NumCalls() int {
	n := 0
	for i := range s.threads {
		n += len(s.threads[i].calls)
	}
	return n
}

// NumAgents returns the number of sub-agents.
func (s *Session) NumAgents() int { return len(s.threads) - 1 }

// NumCompactions returns the number of compactions over all threads.
func (s *Session) NumCompactions() int {
	n := 0
	for i := range s.threads {
		for j := range s.threads[i].calls {
			if s.threads[i].calls[j].compact != nil {
				n++
			}
		}
	}
	return n
}

// Usage returns the true usage over all threads, with final outputs whatever
// the client version logs.
func (s *Session) Usage() prompt.Usage {
	var u prompt.Usage
	for i := range s.threads {
		for j := range s.threads[i].calls {
			u.Add(s.threads[i].calls[j].usage)
		}
	}
	return u
}
