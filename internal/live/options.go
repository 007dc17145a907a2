package live

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/draws"
	"github.com/compactsim/compactsim/internal/live/cassette"
	"github.com/compactsim/compactsim/internal/live/fidelity"
	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/internal/texts"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/traces"
)

// Backend makes calls, as those of package backend do. Do must be safe for
// concurrent use.
type Backend interface {
	Do(ctx context.Context, r *wire.Request) (*wire.Reply, error)
}

// Stub sizes the calls that are not made. *summarizer.Stub is one.
type Stub interface {
	Summarize(in *prompt.Intent, src draws.Source, event uint64, span prompt.Digest) prompt.Answer
}

// Texts are the texts behind the blocks of a session. *texts.Reader is one.
type Texts interface {
	Block(i int32) (texts.Content, error)
	Close() error
}

// Shadow is a model of the cache that the calls really made have left behind.
type Shadow interface {
	// Predict returns what the server should have read, written and processed
	// for a request that began at a time. It is asked for every call that was
	// answered, in order of the answers, and must be safe for concurrent use.
	Predict(at time.Time, r *wire.Request, reply *wire.Reply) prompt.Usage
}

// Fidelity finds what is worth keeping, and what of it a summary keeps. It must be
// safe for concurrent use.
type Fidelity interface {
	// Entities returns what is worth keeping in what a summary replaces, and
	// whether the summary has it. Root is the folder of the project, below which
	// paths may be given relative to it; "" for none.
	Entities(root string, span []fidelity.Piece, summary string) []cassette.Entity
	// Survive returns how many of the entities a later summary has.
	Survive(root string, entities []cassette.Entity, summary string) int
}

// Store keeps calls. *cassette.Folder is one.
type Store interface {
	// Do returns a call, and true when it was there; else it has ask make it, once
	// however many want it, and stores it before it returns. What ask returns an
	// error for is not stored.
	Do(ctx context.Context, call cassette.Call, ask cassette.Ask) (*cassette.Cassette, bool, error)
	// Has reports whether the call is there.
	Has(call cassette.Call) bool
}

// DefaultMaxOutput bounds a call that says nothing of its output, tokens: the
// client's own cap for summaries, of which 99.99 % take 17,387 at most.
const DefaultMaxOutput = 20_000

// Options are what a Summarizer needs. Texts and either Backend or Calls must be
// given, except for a dry run.
type Options struct {
	// Sources are the sources whose calls are made; nil for compact and
	// session_memory. The others are left to Stub.
	Sources []string
	// Model is asked in the place of the session's, by this very name; "" for the
	// session's. A strategy that names a model of its own keeps it. Recorded names
	// lose what a cloud platform or the client puts around them.
	Model string
	// MaxOutput bounds the output of calls that do not, tokens; 0 for
	// DefaultMaxOutput.
	MaxOutput int
	// MaxOutputOf returns the most a model can answer, tokens, 0 where that is not
	// known: no call asks for more. Nil when no model is known.
	MaxOutputOf func(model string) int
	// NoCompaction says that who is asked offers no compaction of its own: calls that
	// are to be made in that way fail at once, and the strategy goes on from there.
	NoCompaction bool
	// Provider names who is asked, "" for anybody: what one has answered is no
	// answer of another.
	Provider string
	// Instructions are what the user wants of every summary, as a PreCompact hook
	// would give it.
	Instructions string
	// System and Tools are the head of calls that share the conversation's; nil for
	// placeholders of the size the recording tells.
	System []wire.Block
	Tools  []wire.Tool
	Betas  []string // beta features to ask for in every call, beside those that Server needs
	Server Server
	// Thinking is what calls say of thinking; nil for what the strategy's call
	// implies: one on the conversation's own prefix thinks where the recorded
	// conversation did. A budget of 0 is the largest there is room for. What an event
	// of the scenario has set comes first in calls on the conversation's own prefix.
	Thinking *wire.Thinking
	// NoThinking says that who is asked has no word for thinking.
	NoThinking bool
	// Effort is the effort asked of the model, by the provider's name for it; ""
	// to leave it out. An event of the scenario comes first, as for Thinking.
	Effort string

	Backend Backend
	Calls   Store // stored calls; nil for none
	Texts   func(context.Context, *traces.Session) (Texts, error)
	Stub    Stub // nil for summarizer.Default()
	Shadow  Shadow
	// Prices return the price of a call, USD; nil for 0.
	Prices   func(model string, u prompt.Usage) float64
	Fidelity Fidelity         // nil for no word about what summaries keep
	Name     string           // of the cell, for the report
	Now      func() time.Time // nil for time.Now
	// Shared is given to all summarisers of a run, so that none sends filler for
	// what another's call has answered, and a call that several make is estimated
	// once in a dry run; nil for one of its own.
	Shared *Shared
	// Dry estimates calls instead of making them: Stub answers all that are not
	// stored.
	Dry bool
}

// withDefaults returns o with what it leaves open filled in, or what is wrong
// with it.
func (o Options) withDefaults() (Options, error) {
	if o.Sources == nil {
		o.Sources = []string{sourceCompact, sourceSessionMemory}
	}
	if o.MaxOutput == 0 {
		o.MaxOutput = DefaultMaxOutput
	}
	if o.Stub == nil {
		o.Stub = summarizer.Default()
	}
	if o.Shared == nil {
		o.Shared = &Shared{}
	}
	if o.Server.Instructions == "" && strings.TrimSpace(o.Instructions) != "" {
		o.Server.Instructions = serverInstructions(o.Instructions)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Prices == nil {
		o.Prices = func(string, prompt.Usage) float64 { return 0 }
	}
	var errs []error
	if o.MaxOutput < 0 {
		errs = append(errs, fmt.Errorf("output of %d tokens is negative", o.MaxOutput))
	}
	if !o.Dry && o.Backend == nil && o.Calls == nil {
		errs = append(errs, errors.New("neither a server nor stored calls are given"))
	}
	if !o.Dry && o.Backend != nil && o.Texts == nil {
		errs = append(errs, errors.New("no texts to compose calls of"))
	}
	errs = append(errs, o.Server.Validate())
	if err := errors.Join(errs...); err != nil {
		return o, fmt.Errorf("live summariser: %w", err)
	}
	return o, nil
}
