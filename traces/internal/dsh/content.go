package dsh

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// content is a part of a message, or of a tool's result.
type content struct {
	Type      string         `json:"type"`
	Text      string         `json:"text"`
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	Arguments jsontext.Value `json:"arguments"` // a text of JSON
	Call      string         `json:"toolCallId"`
	Failed    bool           `json:"isError"`
	Content   []content      `json:"content"`
	Data      string         `json:"data"` // of an image
}

// ignored reports whether events of a type are known to say nothing that is read.
func ignored(typ string) bool {
	switch typ {
	case "step/start", "request/context", "request/header", "assistant/chunk", "assistant/message", "user/message", "tool/result", "compaction/summary":
		return false
	}
	kind, _, _ := strings.Cut(typ, "/")
	switch kind {
	case "agent", "turn", "step", "session", "request", "tool", "compaction", "approval", "permission", "subagent", "plan", "goal", "todo", "file", "context",
		"text-chunks", "reasoning-chunks", "tool-call-chunks":
		return true
	}
	return false
}

// counts returns the usage of a call. Reads and writes are left out where there are none.
func (u *usage) counts() assembly.Usage {
	if u == nil {
		return assembly.Usage{Reasoning: -1, Bad: true, Missing: true}
	}
	l := assembly.Logged{Input: u.Input, Read: u.Read, Write: u.Write, Output: u.Output, Reasoning: u.Reasoning, Apart: true}
	return l.Usage()
}

// blocks returns the blocks of a message.
func (m *message) blocks(mk assembly.Maker) (list []assembly.Block) {
	for i := range m.Content {
		switch c := &m.Content[i]; c.Type {
		case "text":
			list = append(list, m.text(mk, c.Text))
		case "reasoning":
			list = append(list, mk.Text(prompt.KindThinking, c.Text))
		case "tool-call":
			list = append(list, mk.Use(assembly.CallID(c.ID), c.Name, assembly.Arguments(c.Arguments)))
		case "tool-result":
			text, image := c.result(mk)
			list = append(list, mk.Result(assembly.CallID(c.Call), text, c.Failed, image))
		case "image":
			list = append(list, mk.Text(prompt.KindImage, c.Data))
		default:
			mk.Skip(c.Type)
		}
	}
	return list
}

// text returns the block of a text: the model's, a person's, or one that the client added.
func (m *message) text(mk assembly.Maker, text string) assembly.Block {
	switch {
	case m.Role == "assistant":
		return mk.Text(prompt.KindText, text)
	case m.Source.Kind == "user" || m.Source.Kind == "":
		return mk.Text(prompt.KindPrompt, text)
	}
	return mk.Added(text)
}

// result returns the text of a tool's result and whether it has an image.
func (c *content) result(mk assembly.Maker) (text string, image bool) {
	var texts []string // most have one, which is not copied
	for _, p := range c.Content {
		switch p.Type {
		case "text":
			texts = append(texts, p.Text)
		case "image":
			image = true
		default:
			mk.Skip(p.Type)
		}
	}
	return strings.Join(texts, ""), image
}

// texts reads the texts of a line again.
func texts(text []byte) (list []traces.Text) {
	e, err := eventOf(text)
	if err != nil {
		return nil
	}
	d, _ := e.data() // what cannot be read has no blocks
	mk, m := assembly.Maker{Keep: true}, d.messageOf(e.Type)
	if where, _ := e.place(); where.replaces() {
		for _, p := range m.Content {
			if p.Text != "" {
				list = append(list, assembly.TextsOf([]assembly.Block{mk.Text(prompt.KindSummary, p.Text)})...)
			}
		}
	}
	return append(list, assembly.TextsOf(m.blocks(mk))...)
}
