package scenarios

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/tools/tests/scenariostest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// loggedProgram writes the request log of a program of 90 calls that summarises its oldest messages above 3,000 tokens, all but
// the newest ten and the first few, by a call that stands in the log. The server keeps every prefix; a token is four letters.
type loggedProgram struct {
	first   int  // messages at the front that stay
	fixed   bool // all summaries are one text
	unasked bool // no request carries a marker
	at      int
	before  []string
	log     strings.Builder
}

func (l *loggedProgram) call(system string, list []string, reply string, read int) {
	size := len(system) / 4
	var messages []map[string]any
	for i, text := range list {
		size += len(text) / 4
		role := "user"
		if strings.HasPrefix(text, "answer") {
			role = "assistant"
		}
		block := map[string]any{"type": "text", "text": text}
		if i == len(list)-1 && system != "" && !l.unasked {
			block["cache_control"] = map[string]string{"type": "ephemeral"}
		}
		messages = append(messages, map[string]any{"role": role, "content": []any{block}})
	}
	request := map[string]any{"model": "claude-sonnet-4-5", "max_tokens": 9000, "messages": messages}
	usage := map[string]int{"input_tokens": size, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": len(reply) / 4}
	if system != "" {
		head := map[string]any{"type": "text", "text": system}
		if !l.unasked {
			head["cache_control"] = map[string]string{"type": "ephemeral"}
		}
		request["system"] = []any{head}
		usage["input_tokens"], usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"] = 3, read, size-read-3
	}
	body, _ := json.Marshal(request)
	answer, _ := json.Marshal(map[string]any{"id": fmt.Sprint("m", l.at), "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
		"content": []any{map[string]string{"type": "text", "text": reply}}, "stop_reason": "end_turn", "usage": usage})
	fmt.Fprintf(&l.log, `{"start":%d,"end":%d,"request":%s,"response":%s}`+"\n", 1790000000+20*l.at, 1790000005+20*l.at, body, answer)
	l.at++
}

// said is a text of some tokens that no other text begins like.
func said(what string, n, tokens int) string {
	text := fmt.Sprintf("%s %d ", what, n)
	return text + strings.Repeat(fmt.Sprintf("w%03d", n), tokens-len(text)/4)
}

func (l *loggedProgram) write() string {
	system := said("system", 0, 600)
	var list []string
	for n := range 90 {
		list = append(list, said("prompt", n, 60+n*37%50))
		size := 600
		for _, text := range list {
			size += len(text) / 4
		}
		if size > 3000 {
			cut := (len(list) - 11) / 2 * 2 // before a prompt
			l.call("", []string{"Summarise: " + strings.Join(list[l.first:cut], " ")}, said("sum", 7, 300), 0)
			of := n
			if l.fixed {
				of = 0
			}
			list = append(append(append([]string{}, list[:l.first]...), said("summary", of, 310)), list[cut:]...)
		}
		read := 0
		if n > 0 {
			read = 600
			for i := 0; i < min(len(list), len(l.before)) && list[i] == l.before[i]; i++ {
				read += len(list[i]) / 4
			}
			if read == 600+len(strings.Join(l.before, ""))/4 {
				read -= 3
			}
		}
		l.before = list
		reply := said("answer", n, 30+n*53%40)
		l.call(system, list, reply, read)
		list = append(list[:len(list):len(list)], reply)
	}
	return l.log.String()
}

// The recorded row of a program's request log costs what was billed, within 3 %: summary calls that stand in the log, summaries
// in front of what stays, messages that stay in front of a summary, one text again and again, prefixes below the
// documented minimum, markers that a gateway sets, a server that reads up to summaries which no request marks. The logs of LangChain and OpenHands are from runs of 2026-11-27.
func TestRecordedCostsWhatLibrariesWereBilled(t *testing.T) {
	t.Parallel()
	logs := map[string][]byte{
		"summary in front":     []byte((&loggedProgram{}).write()),
		"one text":             []byte((&loggedProgram{fixed: true}).write()),
		"first messages stay":  []byte((&loggedProgram{first: 2}).write()),
		"markers of a gateway": []byte((&loggedProgram{fixed: true, unasked: true}).write()),
	}
	shared, _ := filepath.Glob("../../shared/lab/sessions/libraries/*.jsonl.zst")
	for _, name := range shared {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		logs[filepath.Base(name)] = text
	}
	for name, text := range logs {
		file := "log.jsonl"
		if strings.HasSuffix(name, ".zst") {
			file = name
		}
		corpus, err := agents.ReadFS(t.Context(), traces.Options{}, fstest.MapFS{file: {Data: text}})
		if err != nil || len(corpus.Sessions) != 1 {
			t.Fatalf("%s: %v, %d sessions", name, err, len(corpus.Sessions))
		}
		p := Plan{Registry: scenariostest.Registry(t), Prices: scenariostest.Prices(t), Seed: 1, Strategies: []string{measures.StrategyRecorded}}
		run, err := p.Run(t.Context(), corpus)
		if err != nil {
			t.Fatal(err)
		}
		billed, recorded := &run.Reference(measures.StrategyBilled).Total, &run.Reference(measures.StrategyRecorded).Total
		if off := recorded.CostUSD()/billed.CostUSD() - 1; math.Abs(off) > 0.03 || billed.N(measures.Compactions) < 3 || len(corpus.Sessions[0].Threads) != 1 {
			t.Errorf("%s: billed $%.4f, recorded $%.4f (%+.1f %%), %d compactions, %d threads", name, billed.CostUSD(), recorded.CostUSD(), 100*off,
				billed.N(measures.Compactions), len(corpus.Sessions[0].Threads))
		}
	}
}
