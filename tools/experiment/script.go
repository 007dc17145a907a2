package main

import (
	"maps"
	"slices"
)

// A Script is what the agent of an experiment does, whatever client it runs under. It is made from a seed, so it is the
// same for every run and is kept nowhere.
type Script struct {
	Name    string
	Density float64           // tokens for each piece of a text (pieces), by which one script is heavier than another
	Files   map[string]string // the project: texts by path
	Threads []*Thread         // threads with prompts are sessions, threads without are sub-agents
}

// A Thread is one conversation.
type Thread struct {
	Name    string // told to the model as thread:NAME in each prompt and summary
	Prompts []Prompt
	Steps   []Step
	Seed    uint64 // of its summaries
}

// A Prompt is what the person types.
type Prompt struct {
	Text  string
	Pause int // minutes that pass before it
}

// A Step is one answer of the model. A step without operations ends the turn.
type Step struct {
	Say   string
	Ops   []Op
	Needs []Need // what its operations use: fetched first if the request lacks it
}

// A Need is something that an operation has to have seen: a string and the file or check that shows it.
type Need struct {
	Mark string // unique in the project
	Show Op     // what fetches it
}

// An Op is one use of a tool.
type Op struct {
	Do       verb
	File     string // of read, show, edit and write; the number of a check
	Old, New string // of edit; New is the text of write, the word of find, the prompt of help
}

// A verb is what an operation does; each client has a tool for it.
type verb int

const (
	read  verb = iota // look at a file with the client's own tool
	show              // print a file in the shell
	check             // run ./check NUMBER, which prints what is kept under that number
	find              // search the project for a word
	edit              // replace a line of a file
	write             // make a new file
	help              // ask a sub-agent
)

// checkFile is where the output of a check is kept in the project.
func checkFile(number string) string { return ".checks/" + number + ".txt" }

// thread returns the thread of a name, nil if the script has none.
func (s *Script) thread(name string) *Thread {
	for _, t := range s.Threads {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// texts calls yield with every text of the script that a client may repeat in its recording.
func (s *Script) texts(yield func(string)) {
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		yield(s.Files[name])
	}
	for _, t := range s.Threads {
		for _, p := range t.Prompts {
			yield(p.Text)
		}
		for _, step := range t.Steps {
			yield(step.Say)
			for _, op := range step.Ops {
				yield(op.Old)
				yield(op.New)
				yield(op.command())
			}
		}
		for k := range maxSummaries {
			yield(t.summary(k))
		}
	}
}

// summaryTokens returns how long the summaries of a script are on average, tokens.
func (s *Script) summaryTokens() int {
	n, of := 0, 0
	for _, t := range s.Threads {
		for k := 0; t.Prompts != nil && k < maxSummaries; k++ {
			n, of = n+tokens(t.summary(k), s.Density), of+1
		}
	}
	return n / of
}

// maxSummaries is more than any session makes.
const maxSummaries = 80
