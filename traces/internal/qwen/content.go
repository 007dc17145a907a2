package qwen

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// blocks returns the blocks of a message. What a person did not write is the client's.
func (l *line) blocks(mk assembly.Maker) (list []assembly.Block) {
	kind := prompt.KindPrompt
	switch {
	case l.Type == "assistant":
		kind = prompt.KindText
	case l.By != "" && l.By != "real_user":
		kind = prompt.KindAttachment
	}
	for i := range l.Message.Parts {
		switch p := &l.Message.Parts[i]; {
		case p.Call != nil:
			list = append(list, mk.Use(assembly.CallID(p.Call.ID), p.Call.Name, p.Call.Args))
		case p.Result != nil:
			r := &p.Result.Response
			list = append(list, mk.Result(assembly.CallID(p.Result.ID), r.Output+r.Error, r.Error != "", false))
		case p.Thought:
			list = append(list, mk.Text(prompt.KindThinking, p.Text))
		case p.Text != "":
			b := mk.Text(kind, p.Text)
			if kind == prompt.KindAttachment {
				b.Flags |= prompt.FlagMeta
			}
			list = append(list, b)
		}
	}
	return list
}

// summary returns the summary that begins a history.
func (p *payload) summary(mk assembly.Maker) []assembly.Block {
	if len(p.History) == 0 || len(p.History[0].Parts) == 0 {
		return nil
	}
	return []assembly.Block{mk.Text(prompt.KindSummary, p.History[0].Parts[0].Text)}
}

// texts reads the texts of a line again.
func texts(text []byte) []traces.Text {
	var l line
	if assembly.Decode(text, &l) != nil {
		return nil
	}
	mk := assembly.Maker{Keep: true}
	if l.Subtype != "chat_compression" {
		return assembly.TextsOf(l.blocks(mk))
	}
	var p payload
	if assembly.Decode(l.Payload, &p) != nil {
		return nil
	}
	return assembly.TextsOf(p.summary(mk))
}
