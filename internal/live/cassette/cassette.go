// Package cassette stores live calls: one file for each, so that a run whose
// summaries a real model wrote can be replayed without asking it again.
//
// A file is JSON, named by the key of its call. It tells what the call was for,
// what was asked by size and digest, and what came back. There is no room in it
// for a key of a provider or a header. A call whose request is another has
// another key: it is missing, and never answered by what another call got.
package cassette

import (
	"time"

	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/sim/prompt"
)

// Version is the version of the files that are written, the only one that is
// read.
const Version = 1

// Call identifies a call and says what it is for.
type Call struct {
	// Chain is that of the last block the call sends, and Params what its answer
	// depends on besides, each as "name=value". They make the key.
	Chain  prompt.Digest
	Params []string
	// The others identify nothing: they tell people, and find the cassette that
	// is nearest to one that is missing.
	Session string // id of the recording
	Source  string // as in prompt.Intent.Source
	Model   string // that is asked
	Thread  int32  // of the session, where the call is made
	Round   int32  // of the thread, where the call is made
	Number  int32  // ordinal among the calls of the session, from 1
}

// Key returns the key of the call.
func (c Call) Key() Key { return KeyOf(c.Chain, c.Params...) }

// Cassette is one stored call. What a Folder returns is shared and must not be
// changed.
type Cassette struct {
	Call Call
	// Began is when the call was made, for people; zero when it is not known.
	Began time.Time
	// Texts says of a cassette that was read that the texts of the answer are the
	// model's own; else they are filler of the same size, and the request's
	// instruction is left out. What is stored is taken to have its texts.
	Texts   bool
	Request *Request // nil when it was not kept
	// Reply is what the model answered, nil for a call that failed; Failure why,
	// nil for a call that was answered.
	Reply   *wire.Reply
	Failure *wire.Failure
	// Predicted is what the model of the cache said the call would be billed,
	// tokens.
	Predicted prompt.Usage
	// Entities are the things worth keeping in what was summarised.
	Entities []Entity
}

// Entity is something worth keeping in what was summarised.
type Entity struct {
	Kind string `json:"kind"`
	// Text is "" in a cassette without texts.
	Text string `json:"text,omitzero"`
	Kept bool   `json:"kept,omitzero"` // the summary has it
}

// withoutTexts returns the entities by kind alone.
func withoutTexts(list []Entity) []Entity {
	var bare []Entity
	for _, e := range list {
		bare = append(bare, Entity{Kind: e.Kind, Kept: e.Kept})
	}
	return bare
}
