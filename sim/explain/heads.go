package explain

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// Head is how far the heads of sessions, their tools and system prompts, equal the head of the session before to the same model.
type Head struct {
	Path     string  `json:"path"`      // where they part: system[2].text; "" for heads that are the same
	Least    int     `json:"from_char"` // first and last character at which texts part, from 1; 0 where no text parts
	Most     int     `json:"to_char"`   //
	Sessions int     `json:"sessions"`
	Shared   int64   `json:"shared_tokens"` // of the heads ahead of the place, by their share of the bytes of requests; added up over sessions
	Behind   int64   `json:"behind_tokens"` // of the heads behind it
	USD      float64 `json:"cost_usd"`      // for writing what stands behind the place instead of reading it
}

// opening is the first request of a session, on a line of a request log.
type opening struct {
	session, model string
	at             int64          // unix ns
	input          int64          // tokens
	fresh          float64        // what a token costs more than one that is read, USD
	head           map[string]any // sessions with the same head share it
	whole          int            // bytes of the request
}

// Heads compares the first request of each session of a request log with the first request of the session before that went to
// the same model. Places come in the order of what they cost. No text of a request is in them.
func Heads(corpus *traces.Corpus, prices calls.Prices) ([]Head, error) {
	list, err := openings(corpus, prices)
	if err != nil {
		return nil, err
	}
	var heads []Head
	for i := range list {
		o := &list[i]
		before := previous(list, i)
		if before == nil {
			continue
		}
		p, head := o.parting(before)
		shared := p.tokens(o.input)
		behind := (&Parting{Ahead: head, Whole: p.Whole}).tokens(o.input) - shared
		k := slices.IndexFunc(heads, func(h Head) bool { return h.Path == p.Path })
		if k < 0 {
			k, heads = len(heads), append(heads, Head{Path: p.Path, Least: p.At, Most: p.At})
		}
		h := &heads[k]
		h.Sessions, h.Shared, h.Behind = h.Sessions+1, h.Shared+shared, h.Behind+behind
		h.Least, h.Most = min(h.Least, p.At), max(h.Most, p.At)
		h.USD += float64(behind) * o.fresh
	}
	slices.SortStableFunc(heads, func(a, b Head) int { return cmp.Or(cmp.Compare(b.USD, a.USD), cmp.Compare(a.Path, b.Path)) })
	return heads, nil
}

// previous returns the opening before that went to the same model, nil for none.
func previous(list []opening, i int) *opening {
	for k := i - 1; k >= 0; k-- {
		if list[k].model == list[i].model {
			return &list[k]
		}
	}
	return nil
}

// parting returns where the head parts from another one, without a path where it does not, and the bytes of the head.
func (o *opening) parting(before *opening) (Parting, int) {
	p, parts := partIn(before.head, o.head, func(later []any, _ int) []any { return later })
	head := bytesOf(o.head)
	if !parts {
		p = Parting{Ahead: head}
	}
	p.Whole = o.whole
	return p, head
}

// PartHead returns where the first request of a session of a request log parts from the first request of the session before to the same
// model, and which session that is. It is nil where there is none, or where the heads are the same.
func PartHead(corpus *traces.Corpus, prices calls.Prices, session string) (*Parting, string, error) {
	list, err := openings(corpus, prices)
	if err != nil {
		return nil, "", err
	}
	i := slices.IndexFunc(list, func(o opening) bool { return o.session == session })
	if i < 0 {
		return nil, "", nil
	}
	before := previous(list, i)
	if before == nil {
		return nil, "", nil
	}
	p, _ := list[i].parting(before)
	if p.Path == "" {
		return nil, before.session, nil
	}
	return &p, before.session, nil
}

// headOf returns the members of a body that stand ahead of the conversation, with the instructions that open it.
func headOf(body map[string]any) map[string]any {
	head := map[string]any{}
	for _, name := range []string{"tools", "system", "instructions"} {
		if body[name] != nil {
			head[name] = body[name]
		}
	}
	for _, name := range []string{"messages", "input"} {
		list, _ := body[name].([]any)
		n := 0
		for n < len(list) {
			message, _ := list[n].(map[string]any)
			if role := message["role"]; role != "system" && role != "developer" {
				break
			}
			n++
		}
		if n > 0 {
			head[name] = list[:n]
		}
	}
	return head
}

// openings returns the first requests of the sessions of request logs that have bodies, by time.
func openings(corpus *traces.Corpus, prices calls.Prices) (list []opening, err error) {
	wanted := map[string]map[int][]opening{}
	for _, s := range corpus.Sessions {
		if s.Agent != facts.Requests {
			continue
		}
		if s, err = s.Load(); err != nil {
			return nil, fmt.Errorf("heads of sessions: %w", err)
		}
		if len(s.Threads) == 0 || len(s.Threads[0].Rounds) == 0 {
			continue
		}
		if r := &s.Threads[0].Rounds[0]; int(r.File) < len(s.Files) {
			file := s.Files[r.File]
			if wanted[file] == nil {
				wanted[file] = map[int][]opening{}
			}
			c := &calls.Of(s, prices).Threads[0][0]
			wanted[file][int(r.Line)] = append(wanted[file][int(r.Line)], opening{session: s.ID, model: c.Model.Name, at: c.At,
				input: c.Recorded.Usage.Input(), fresh: max(0, c.Fresh()-c.PerToken[measures.ClassRead])})
		}
	}
	same := map[prompt.Digest]map[string]any{}
	for file, lines := range wanted {
		EachLine(corpus, file, func(n int, line []byte) bool {
			if of := lines[n]; of != nil {
				if body := requestOn(line); body != nil {
					head := headOf(body)
					digest := prompt.DigestString(asJSON(head))
					if same[digest] == nil {
						same[digest] = head
					}
					for _, o := range of {
						o.head, o.whole = same[digest], bytesOf(body)
						list = append(list, o)
					}
				}
				delete(lines, n)
			}
			return len(lines) > 0
		})
	}
	slices.SortFunc(list, func(a, b opening) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.session, b.session))
	})
	return list, nil
}

// EachLine calls see with the lines of a file of a corpus, numbered from 1, until see returns false. A file that cannot be read has no
// further lines.
func EachLine(corpus *traces.Corpus, file string, see func(n int, line []byte) bool) {
	in, ok := corpus.Input(file)
	if !ok {
		return
	}
	rc, err := in.Open()
	if err != nil {
		return
	}
	defer rc.Close()
	r := bufio.NewReader(rc)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if !see(n, line) || err != nil {
			return
		}
	}
}

// place says where heads part.
func (h *Head) place() string {
	switch {
	case h.Path == "":
		return "the same"
	case h.Least == 0 || h.Least == h.Most:
		return (&Parting{Path: h.Path, At: h.Least}).place()
	}
	return fmt.Sprintf("%s, characters %s … %s", h.Path, document.Whole(int64(h.Least)), document.Whole(int64(h.Most)))
}

// HeadTable shows how far heads are shared between sessions.
func HeadTable(heads []Head) *document.Table {
	t := &document.Table{Columns: slices.Concat(document.Left("PARTS AT"), document.Right("", "SESSIONS"),
		document.Right(document.UnitTokens, "SHARED", "BEHIND"), document.Right(document.UnitUSD, "COST"))}
	for i := range heads {
		h := &heads[i]
		t.Rows = append(t.Rows, []any{h.place(), h.Sessions, h.Shared, h.Behind, h.USD})
	}
	return t
}

// barWidth is the number of characters for the whole request.
const barWidth = 40

// shades distinguish cache classes without colour.
var shades = map[string]string{"read": "░", "write_5m": "▓", "write_1h": "█", "uncached": "·"}

// request draws the request, one segment per line, in proportion to its size.
func request(c *studies.ExplainedCall) *document.Table {
	t := &document.Table{Columns: slices.Concat(document.Left("SEGMENT"), document.Right("", "BLOCKS", "TOKENS"),
		document.Left("WHERE"))}
	from := int64(0)
	for _, s := range folded(c) {
		name := s.Kind
		if s.Form != "" {
			name += " (" + s.Form + ")"
		}
		if s.Blocks == 0 {
			name += " (rest)"
		}
		left, right := characters(from, c.Context), characters(from+s.Tokens, c.Context)
		from += s.Tokens
		bar := strings.Repeat(" ", left) + strings.Repeat(shades[s.Class], max(1, right-left))
		if s.Marker {
			bar += " ◆"
		}
		t.Rows = append(t.Rows, []any{name, s.Blocks, s.Tokens, bar})
	}
	return t
}

// folded joins the small segments of a conversation with the same cache class;
// notable ones stay separate.
func folded(c *studies.ExplainedCall) []studies.Segment {
	var list []studies.Segment
	open := false // the last of list is a run of small segments
	for _, s := range c.Segments {
		small := standsBack(&s, c.Context)
		if n := len(list); open && small && list[n-1].Class == s.Class {
			list[n-1].Blocks += s.Blocks
			list[n-1].Tokens += s.Tokens
			list[n-1].Marker = s.Marker
			if list[n-1].Form != s.Form {
				list[n-1].Form = "partly cleared"
			}
			list[n-1].Kind = "conversation"
		} else {
			list = append(list, s)
		}
		open = small && !s.Marker
	}
	return list
}

// standsBack reports whether a segment is an ordinary part of the conversation
// and less than a twentieth of the request.
func standsBack(s *studies.Segment, total int64) bool {
	switch s.Kind {
	case "prompt", "text", "thinking", "tool_use", "tool_result", "unseen", "image", "document":
		return (s.Form == "" || s.Form == "cleared") && s.Tokens*20 < total
	}
	return false
}

// characters returns the number of characters for n of total tokens.
func characters(n, total int64) int {
	if total <= 0 {
		return 0
	}
	return int(n * barWidth / total)
}
