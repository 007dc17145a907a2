package live

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/reading/texts"
	"github.com/compactsim/compactsim/internal/serving/summarizer"
	"github.com/compactsim/compactsim/sim/prompt"
)

// Composed counts how requests differ from the recording.
type Composed struct {
	Unseen int64 `json:"unseen"` // about the bytes of text that no recording shows
	Lost   int   `json:"lost"`   // of it, summaries
}

// composer is a call with what makes its request.
type composer struct {
	opts   *Options
	memory *memory
	call   *summarizer.Call
	plan   *plan
	texts  Texts
	sent   *Request
	key    Key
	blocks []placed
	quote  string // the beginning of the part to summarise, if that does not begin the conversation
	count  Composed
}

// request returns the request of the call.
func (p *composer) request() (*Request, error) {
	r := &Request{Model: p.plan.model, MaxTokens: p.plan.maxOutput, Stream: true}
	c := p.call.Context
	end := p.end()
	for i := c.Messages(); i < end; i++ {
		if err := p.entry(i); err != nil {
			return nil, fmt.Errorf("entry %d of %d: %w", i, c.Len(), err)
		}
	}
	if p.plan.kind != kindServer {
		p.add(end, roleUser, Text(p.plan.instruction(p.quote, p.opts.Instructions, p.notes())))
	}
	p.blocks = alternate(pair(p.blocks))
	p.head(r)
	if p.plan.kind == kindServer {
		r.Compaction = &Compaction{Type: "summarize"}
		if strings.TrimSpace(p.opts.Instructions) != "" || p.call.Intent.Instruction > 0 {
			r.Compaction.Instructions = clean(serverInstructions(p.opts.Instructions))
		}
	}
	mark(r, p.blocks, p.call)
	r.Messages = messages(p.blocks)
	return r, nil
}

// notes returns the session memory that the call updates, "" for none.
func (p *composer) notes() string {
	base := p.call.Intent.Base
	if base.IsZero() {
		return ""
	}
	w, _ := p.recall(base)
	return w.text
}

// recall returns an earlier summary as this call sends it, and whether there is one.
func (p *composer) recall(d prompt.Digest) (written, bool) {
	w, ok := p.memory.find(d)
	if !ok {
		p.count.Lost++
	}
	return w, ok
}

// end returns the position after the conversation: that of the instruction, if the call has one.
func (p *composer) end() int {
	n := p.call.Context.Len()
	if p.call.Intent.Instruction > 0 && n > 0 && p.call.Context.At(n-1).Block < 0 {
		n--
	}
	return n
}

func (p *composer) add(at int, role string, b Block) {
	if b.Type == typeText && strings.TrimSpace(b.words()) == "" {
		return // the API refuses empty text
	}
	p.blocks = append(p.blocks, placed{at: at, role: role, block: b})
}

// entry adds the block of an entry of the conversation.
func (p *composer) entry(i int) error {
	e, b := *p.call.Context.At(i), p.call.Context.BlockAt(i)
	switch {
	case e.Kind == prompt.KindThinking:
		return nil // another key signed it
	case e.Tokens <= 0 && e.Kind != prompt.KindToolUse && e.Kind != prompt.KindToolResult:
		return nil // an entry without weight is not sent
	case e.Block < 0:
		return p.injected(i, e, b)
	}
	content := texts.Content{}
	if e.Form != prompt.FormCleared || e.Kind == prompt.KindToolUse {
		var err error
		if content, err = p.texts.Block(int32(e.Block)); err != nil {
			return err
		}
	}
	if content.Filler {
		content.Text = p.unseen(int64(len(content.Text)))
	}
	p.place(i, e, b, &content)
	return nil
}

// place adds a block of the recording in the form of its entry.
func (p *composer) place(i int, e prompt.Entry, b *prompt.Block, content *texts.Content) {
	if e.Kind == prompt.KindToolUse {
		input := object(content.Input)
		if e.Form == prompt.FormCleared {
			input = jsontext.Value("{}")
		}
		p.cover(i, string(input))
		p.add(i, roleAssistant, useBlock(callID(b, i), p.toolName(b, content.Name), input))
		return
	}
	text := shown(e, b, content)
	p.cover(i, text)
	if e.Kind == prompt.KindToolResult {
		p.add(i, roleUser, resultBlock(callID(b, i), text, content.Error || b.Flags&prompt.FlagError != 0))
	} else {
		p.add(i, roleOf(e), Text(text))
	}
}

// roleOf returns who says an entry.
func roleOf(e prompt.Entry) string {
	if e.Kind.Assistant() {
		return roleAssistant
	}
	return roleUser
}

// shown returns the text of an entry other than a tool call, in its form.
func shown(e prompt.Entry, b *prompt.Block, content *texts.Content) string {
	text, result := clean(content.Text), e.Kind == prompt.KindToolResult
	whole := withMedia(text, content.Media)
	switch {
	case e.Form == prompt.FormCleared:
		return clearedText
	case e.Kind == prompt.KindImage:
		return withMedia(text, "image")
	case e.Kind == prompt.KindDocument:
		return withMedia(text, "document")
	case !result && e.Form == prompt.FormRange:
		return share(text, e, b)
	case e.Form == prompt.FormPointer && result:
		return stored(whole, int(e.Tokens)*bytesPerToken)
	case e.Form == prompt.FormRange && b.Flags&prompt.FlagImage == 0:
		return stored(whole, len(share(whole, e, b)))
	case result && strings.TrimSpace(whole) == "":
		return emptyResult
	}
	return whole
}

// share returns the beginning of a text, as much as its entry still weighs.
func share(text string, e prompt.Entry, b *prompt.Block) string {
	return cut(text, int(int64(len(text))*int64(e.Tokens)/int64(max(1, b.Tokens))))
}

// callID names a tool call and its result; a block without a counterpart is named by its place.
func callID(b *prompt.Block, at int) string {
	if b.Call > 0 {
		return "toolu_" + strconv.Itoa(int(b.Call))
	}
	return "toolu_at_" + strconv.Itoa(at)
}

// object returns the input of a tool call in the form the API requires: a JSON object.
func object(input jsontext.Value) jsontext.Value {
	if !input.IsValid() {
		return jsontext.Value("{}")
	}
	if input.Kind() == '{' {
		return input
	}
	return jsontext.Value(`{"input":` + string(input) + `}`)
}

// cover records how the part begins that the summary replaces.
func (p *composer) cover(i int, text string) {
	if i >= p.plan.pivot && p.quote == "" && p.plan.part == prompt.PartFrom {
		p.quote = strings.Join(strings.Fields(cut(text, 200)), " ")
	}
}

// placed is a block of a request, its speaker, and the entry of the call's context that it shows.
type placed struct {
	at    int
	role  string
	block Block
}

// pair puts tool results directly after the message with their calls, as the API requires. A call without a result
// gets one that says so; a result without a call, and a call with the id of an earlier one, are left out.
func pair(in []placed) []placed {
	results, called := map[string]placed{}, map[string]bool{}
	for _, p := range in {
		if _, twice := results[p.block.ToolUseID]; p.block.Type == typeResult && !twice {
			results[p.block.ToolUseID] = p
		}
	}
	out := make([]placed, 0, len(in))
	var open []placed
	answer := func() {
		for _, call := range open {
			r, ok := results[call.block.ID]
			if !ok {
				r = placed{at: call.at, role: roleUser, block: resultBlock(call.block.ID, missingResult, false)}
			}
			out = append(out, r)
		}
		open = open[:0]
	}
	for _, p := range in {
		switch {
		case p.block.Type == typeResult:
			answer()
			continue
		case p.block.Type == typeUse && called[p.block.ID]:
			continue
		case p.block.Type == typeUse:
			called[p.block.ID] = true
			open = append(open, p)
		case p.role == roleUser:
			answer()
		}
		out = append(out, p)
	}
	answer()
	return out
}

// alternate makes the first and the last message the user's.
func alternate(blocks []placed) []placed {
	said := func(at int, text string) placed {
		return placed{at: at, role: roleUser, block: Text(text)}
	}
	if len(blocks) == 0 {
		return []placed{said(0, leadingText)}
	}
	if blocks[0].role == roleAssistant {
		blocks = slices.Insert(blocks, 0, said(blocks[0].at, leadingText))
	}
	if last := blocks[len(blocks)-1]; last.role == roleAssistant {
		blocks = append(blocks, said(last.at, pausedText))
	}
	return blocks
}

// messages groups consecutive blocks by speaker.
func messages(blocks []placed) []Message {
	var list []Message
	for _, p := range blocks {
		if n := len(list); n == 0 || list[n-1].Role != p.role {
			list = append(list, Message{Role: p.role})
		}
		m := &list[len(list)-1]
		m.Content = append(m.Content, p.block)
	}
	return list
}

const ttl5m, ttl1h = "5m", "1h"

// mark puts cache breakpoints where the client has them: at the block of the marked entry, or the last one sent before
// it, be it the system prompt. Of two at one block the later one stays.
func mark(r *Request, blocks []placed, call *summarizer.Call) {
	markers := call.Markers
	for _, m := range markers[max(0, len(markers)-prompt.MaxMarkers):] {
		if m.Position < 0 || int(m.Position) >= call.Context.Len() {
			continue
		}
		c := &CacheControl{Type: "ephemeral", TTL: ttl5m}
		if m.TTL == prompt.TTL1h {
			c.TTL = ttl1h
		}
		i := len(blocks) - 1
		for i >= 0 && blocks[i].at > int(m.Position) {
			i--
		}
		if i >= 0 {
			blocks[i].block.CacheControl = c
		} else {
			r.System[len(r.System)-1].CacheControl = c
		}
	}
}
