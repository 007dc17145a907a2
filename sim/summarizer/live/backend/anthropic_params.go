package backend

import (
	"encoding/json" // the SDK takes raw values in this form
	"fmt"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/compactsim/compactsim/sim/summarizer/wire"
)

// params returns a request in the SDK's form.
func (a *Anthropic) params(r *wire.Request) (anthropic.BetaMessageNewParams, error) {
	p := anthropic.BetaMessageNewParams{Model: anthropic.Model(r.Model), MaxTokens: int64(r.MaxTokens)}
	for _, b := range r.System {
		if b.Kind != wire.KindText {
			return p, fmt.Errorf("a block of kind %q in the system prompt: only text stands there", b.Kind)
		}
		p.System = append(p.System, *text(&b))
	}
	for i := range r.Tools {
		p.Tools = append(p.Tools, tool(&r.Tools[i]))
	}
	for i, m := range r.Messages {
		blocks, err := contents(m.Blocks)
		if err != nil {
			return p, fmt.Errorf("message %d: %w", i+1, err)
		}
		p.Messages = append(p.Messages, anthropic.BetaMessageParam{Role: anthropic.BetaMessageParamRole(m.Role), Content: blocks})
	}
	for _, b := range r.Betas {
		p.Betas = append(p.Betas, anthropic.AnthropicBeta(b))
	}
	if len(r.ContextManagement) > 0 {
		p.ContextManagement = param.Override[anthropic.BetaContextManagementConfigParam](json.RawMessage(r.ContextManagement))
	}
	if r.ToolsDenied && a.config.ToolChoiceNone && len(r.Tools) > 0 {
		p.ToolChoice = anthropic.BetaToolChoiceUnionParam{OfNone: &anthropic.BetaToolChoiceNoneParam{}}
	}
	return p, nil
}

// marker returns the breakpoint that asks for a cache entry of a lifetime; the
// zero value is left out of a request.
func marker(c wire.Cache) anthropic.BetaCacheControlEphemeralParam {
	if c == wire.CacheNone {
		return anthropic.BetaCacheControlEphemeralParam{}
	}
	p := anthropic.NewBetaCacheControlEphemeralParam()
	p.TTL = anthropic.BetaCacheControlEphemeralTTL(c)
	return p
}

func text(b *wire.Block) *anthropic.BetaTextBlockParam {
	return &anthropic.BetaTextBlockParam{Text: b.Text, CacheControl: marker(b.Cache)}
}

func tool(t *wire.Tool) anthropic.BetaToolUnionParam {
	p := &anthropic.BetaToolParam{Name: t.Name, CacheControl: marker(t.Cache)}
	if t.Description != "" {
		p.Description = param.NewOpt(t.Description)
	}
	// The schema as it stands: another order of its keys would be another prefix.
	p.InputSchema = param.Override[anthropic.BetaToolInputSchemaParam](json.RawMessage(t.InputSchema))
	return anthropic.BetaToolUnionParam{OfTool: p}
}

func contents(blocks []wire.Block) ([]anthropic.BetaContentBlockParamUnion, error) {
	list := make([]anthropic.BetaContentBlockParamUnion, 0, len(blocks))
	for i := range blocks {
		b := &blocks[i]
		var u anthropic.BetaContentBlockParamUnion
		switch b.Kind {
		case wire.KindText:
			u.OfText = text(b)
		case wire.KindToolUse:
			u.OfToolUse = &anthropic.BetaToolUseBlockParam{ID: b.ID, Name: b.Name, Input: input(b), CacheControl: marker(b.Cache)}
		case wire.KindToolResult:
			u.OfToolResult = result(b)
		default:
			return nil, fmt.Errorf("block %d: unknown kind %q", i+1, b.Kind)
		}
		list = append(list, u)
	}
	return list, nil
}

// input returns the input of a tool call, {} when it has none.
func input(b *wire.Block) json.RawMessage {
	if len(b.Input) == 0 {
		return json.RawMessage("{}")
	}
	return json.RawMessage(b.Input)
}

func result(b *wire.Block) *anthropic.BetaToolResultBlockParam {
	p := &anthropic.BetaToolResultBlockParam{ToolUseID: b.ID, CacheControl: marker(b.Cache)}
	if b.Text != "" { // the API refuses empty text blocks
		p.Content = []anthropic.BetaToolResultBlockParamContentUnion{{OfText: &anthropic.BetaTextBlockParam{Text: b.Text}}}
	}
	if b.Error {
		p.IsError = param.NewOpt(true)
	}
	return p
}
