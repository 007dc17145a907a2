package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/compactsim/compactsim/internal/live/backend"
	"github.com/compactsim/compactsim/internal/live/cassette"
	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/reports"
)

// hinted are stored calls that tell how to go on where one cannot be had.
type hinted struct{ *cassette.Folder }

// Do is that of the folder.
func (h hinted) Do(ctx context.Context, call cassette.Call, ask func(context.Context) (*cassette.Cassette, error)) (*cassette.Cassette, bool, error) {
	got, there, err := h.Folder.Do(ctx, call, ask)
	var missing *cassette.MissingError
	switch {
	case errors.Is(err, cassette.ErrBroken):
		err = fmt.Errorf("%w; or go on with --summarizer record-missing --replace-broken, which keeps the file beside the new one", err)
	case errors.As(err, &missing):
		err = missingCall{missing}
	}
	return got, there, err
}

// missingCall is the error of a call that is not stored, as a terminal shows it behind
// a line that names session, strategy and call.
type missingCall struct{ *cassette.MissingError }

// Unwrap returns the error of the folder.
func (e missingCall) Unwrap() error { return e.MissingError }

// Error says what to do, what differs, and which file it is that is not there, in lines
// of its own.
func (e missingCall) Error() string {
	const indent = "  "
	text := ""
	for _, sentence := range []string{
		"it is not stored: --summarizer record-missing makes what is missing; or replay under the settings that were recorded",
		e.Difference(),
		fmt.Sprintf("asked of %s, it would be %s.json there", e.Call.Model, e.Key),
	} {
		for _, line := range reports.Wrap(sentence, reports.TextWidth-len(indent)) {
			text += "\n" + indent + line
		}
	}
	return text
}

// helpful is a server whose errors say what to do, where they end the run.
type helpful struct {
	backend.Backend
	flags *liveFlags
}

// Do makes a call.
func (h helpful) Do(ctx context.Context, r *wire.Request) (*wire.Reply, error) {
	reply, err := h.Backend.Do(ctx, r)
	if hint := h.hint(err); hint != "" && ctx.Err() == nil {
		return nil, fmt.Errorf("%w; %s", err, hint)
	}
	return reply, err
}

// hint says how to go on from an error that every other call would meet, "" for any
// other.
func (h helpful) hint(err error) string {
	const on = "what was answered is stored, and --summarizer record-missing goes on from there"
	var f *wire.Failure
	switch {
	case errors.Is(err, backend.ErrBreaker):
		return "try again later, or look at --base-url; " + on
	case errors.Is(err, backend.ErrBudget), errors.Is(err, backend.ErrMaxCalls):
		return on
	case !errors.As(err, &f):
		return ""
	case f.Cause == wire.CauseAuth:
		return "check the key in " + h.flags.keyName() + ", and --base-url if it is another server's; " + on
	case f.Cause == wire.CauseModel:
		return "--live-model asks another model, --base-url another server; " + on
	}
	return ""
}

// keyName returns the variable of the environment that has the key.
func (f *liveFlags) keyName() string {
	if f.provider == providerOpenAI {
		return "OPENAI_API_KEY"
	}
	return "ANTHROPIC_API_KEY"
}
