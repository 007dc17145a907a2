package validate

import (
	"context"
	"errors"
	"fmt"

	"github.com/compactsim/compactsim/internal/needs"
	"github.com/compactsim/compactsim/internal/profile"
	"github.com/compactsim/compactsim/internal/texts"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// survival is the share of what was worth keeping that recorded summaries repeat word for word.
type survival struct {
	Kind string           `json:"kind"`
	Kept profile.Estimate `json:"kept"` // N is how many there were in what the summaries replaced
}

// direction is the kind of a person's sentence that says what to do; such a sentence also counts as a sentence.
const direction = "direction"

// survivalKinds are the kinds of survival in the order of reports.
var survivalKinds = [...]string{
	entityPath, entityCommand, entityError, entitySentence, direction, entityTask,
}

// keeping counts what was in the context that recorded summaries replaced, and what of it they repeat.
type keeping struct{ all, kept map[string]int }

func newKeeping() keeping { return keeping{map[string]int{}, map[string]int{}} }

// session adds the summaries of a session's conversations.
func (k *keeping) session(ctx context.Context, corpus *traces.Corpus, s *traces.Session) (err error) {
	var r *texts.Reader
	for i := range s.Threads {
		t := &s.Threads[i]
		for j := range t.Events {
			e := &t.Events[j]
			if t.Kind != traces.ThreadMain || e.Kind != traces.EventCompact || e.Summary.Len() == 0 {
				continue
			}
			if r == nil {
				if r, err = texts.Open(ctx, corpus, s); err != nil {
					return err
				}
				defer func() { err = errors.Join(err, r.Close()) }()
			}
			if err := k.summary(r, s, t, e); err != nil {
				return fmt.Errorf("what a summary of session %s keeps: %w", s.ID, err)
			}
		}
	}
	return nil
}

// summary adds a summary.
func (k *keeping) summary(r *texts.Reader, s *traces.Session, t *traces.Thread, e *traces.Event) error {
	var replaced []traces.Span
	from, _ := since(t, e)
	for i := range t.Rounds[:min(int(e.Round)+1, len(t.Rounds))] {
		asked, said := t.Rounds[i].Input, t.Rounds[i].Reply
		if i == int(e.Round) {
			asked.To, said = asked.From+e.Absorbed, traces.Span{}
		}
		asked.From, said.From = max(asked.From, from), max(said.From, from)
		replaced = append(replaced, asked, said)
	}
	span, err := pieces(r, s, replaced...)
	if err != nil {
		return err
	}
	summary, err := pieces(r, s, e.Summary)
	if err != nil {
		return err
	}
	text := ""
	for i := range summary {
		text += summary[i].text + "\n"
	}
	for _, x := range entities(s.Project, span, text) {
		k.add(x.kind, x.kept)
		if x.kind == entitySentence && needs.Directs(x.text) {
			k.add(direction, x.kept)
		}
	}
	return nil
}

// pieces reads the texts of blocks.
func pieces(r *texts.Reader, s *traces.Session, spans ...traces.Span) (list []piece, err error) {
	for _, span := range spans {
		for b := span.From; b < span.To; b++ {
			c, err := r.Block(b)
			if err != nil {
				return nil, err
			}
			if c.Filler {
				continue
			}
			bl := &s.Blocks[b]
			p := piece{
				kind: bl.Kind, meta: bl.Flags&prompt.FlagMeta != 0, failed: c.Error, text: c.Text, input: c.Input,
			}
			if bl.Object >= 0 && int(bl.Object) < len(s.Objects) {
				p.object = s.Objects[bl.Object]
			}
			list = append(list, p)
		}
	}
	return list, nil
}

func (k *keeping) add(kind string, kept bool) {
	k.all[kind]++
	if kept {
		k.kept[kind]++
	}
}

// survivals returns the shares by kind.
func (k *keeping) survivals() (list []survival) {
	for _, kind := range survivalKinds {
		if k.all[kind] > 0 {
			list = append(list, survival{kind, wilson(k.kept[kind], k.all[kind])})
		}
	}
	return list
}
