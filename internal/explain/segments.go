package explain

import (
	"github.com/compactsim/compactsim/internal/studies"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// segments joins the entries of a request while kind, form and cache class stay
// the same.
func segments(r *prompt.Request, out *prompt.Outcome) []studies.Segment {
	var list []studies.Segment
	marker, deletion := 0, 0
	for i := range r.Entries {
		e := &r.Entries[i]
		s := studies.Segment{Kind: e.Kind.String(), Form: form(e.Form), Class: class(r, out, int32(i))}
		tokens := int64(e.Tokens)
		if deletion < len(r.Deletions) && r.Deletions[deletion].Position == int32(i) {
			// The server leaves out what it reads; the rest is sent whole.
			if int32(i) <= out.HitAt {
				s.Form = "deleted"
				tokens -= int64(min(r.Deletions[deletion].Tokens, e.Tokens))
			}
			deletion++
		}
		if n := len(list); n == 0 || list[n-1].Marker || !joins(&list[n-1], &s) {
			list = append(list, s)
		}
		last := &list[len(list)-1]
		last.Blocks++
		last.Tokens += tokens
		if marker < len(r.Markers) && r.Markers[marker].Position == int32(i) {
			last.Marker = true
			marker++
		}
	}
	if r.Tail > 0 {
		list = append(list, studies.Segment{Kind: "tail", Blocks: 1, Tokens: int64(r.Tail), Class: results.ClassUncached.String()})
	}
	return list
}

func joins(a, b *studies.Segment) bool {
	return a.Kind == b.Kind && a.Form == b.Form && a.Class == b.Class
}

func form(f prompt.Form) string {
	if f == prompt.FormVerbatim {
		return ""
	}
	return f.String()
}

// class returns how the entry at a position was billed: read up to the hit,
// written up to the last marker (for an hour up to the last such marker), the
// rest uncached.
func class(r *prompt.Request, out *prompt.Outcome, at int32) string {
	if at <= out.HitAt {
		return results.ClassRead.String()
	}
	written := results.ClassUncached
	for _, m := range r.Markers {
		if m.Position < at || m.Position <= out.HitAt {
			continue
		}
		if m.TTL == prompt.TTL1h {
			return writtenOr(out.Usage.Write1h, results.ClassWrite1h)
		}
		written = results.ClassWrite5m
	}
	if written == results.ClassWrite5m {
		return writtenOr(out.Usage.Write5m, written)
	}
	return written.String()
}

// writtenOr returns a class if anything was billed in it: a prefix below the
// minimum is not written although it is marked.
func writtenOr(tokens int64, c results.Class) string {
	if tokens == 0 {
		return results.ClassUncached.String()
	}
	return c.String()
}
