package document

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"html"
	"regexp"
	"strings"
	"testing"
)

// written returns a page.
func written(t *testing.T, d *Document, format string) string {
	t.Helper()
	var b strings.Builder
	if err := d.Write(&b, format); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const hostile = `</script><script>alert(1)</script><img src=x onerror=alert(1)>"'` + "\x1b[2J"

// A page carries out its own script alone: whatever texts of recordings hold is shown as text, and the policy of the
// page names the digests of its style and its script.
func TestPageIsInert(t *testing.T) {
	t.Parallel()
	d := Document{
		Title: hostile, Head: []string{hostile}, Notes: []string{hostile},
		Sections: []Section{{Title: hostile, Notes: []string{hostile}, Blocks: []Block{
			Text{Heading: hostile, Text: hostile}, Text{Lead: hostile, Text: hostile}, Raw(hostile),
			List{{Label: hostile, Text: hostile}},
			&Table{Title: hostile, Columns: Left(hostile), Rows: [][]any{{Cell{Value: hostile, Notes: []string{hostile}}}}},
			&Figure{Name: hostile, Draw: func() (*Picture, error) {
				return &Picture{Title: hostile, SVG: []byte("<svg onload='alert(1)'/>"), Data: &Table{Columns: Columns(hostile), Rows: [][]any{{hostile}}}}, nil
			}},
			&Figure{Name: hostile, Draw: func() (*Picture, error) { return nil, errors.New(hostile) }},
			&Tracks{Step: hostile, List: []Track{{Group: hostile, Notes: map[int]string{0: hostile}}}},
		}}},
	}
	page := written(t, &d, "html")
	if n := strings.Count(page, "<script"); n != 2 { // one of data, one that is ours
		t.Errorf("%d scripts, want 2", n)
	}
	for _, bad := range []string{"<img src=x", "<svg onload", "\x1b"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	policy := regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(page)
	if policy == nil {
		t.Fatal("no policy")
	}
	want := strings.NewReplacer("&#39;", "'", "&#43;", "+").Replace(policy[1])
	for _, part := range []string{"style", "script"} {
		inline := regexp.MustCompile(`(?s)<` + part + `>(.*?)</` + part + `>`).FindStringSubmatch(page)
		sum := sha256.Sum256([]byte(inline[1]))
		if digest := base64.StdEncoding.EncodeToString(sum[:]); !strings.Contains(want, part+"-src 'sha256-"+digest+"'") {
			t.Errorf("the policy %q does not hold the digest %s of the %s", want, digest, part)
		}
	}
	if !strings.HasPrefix(want, "default-src 'none';") || strings.Contains(want, "http") {
		t.Errorf("policy %q lets something in", want)
	}
}

// Footnotes have the numbers of the other formats, and each mark leads to its note.
func TestPageFootnotes(t *testing.T) {
	t.Parallel()
	d := Document{Sections: []Section{{Blocks: []Block{&Table{
		Columns: []Column{{Title: "COST", Right: true, Notes: []string{"first"}}},
		Rows:    [][]any{{Cell{Value: 1.5, Notes: []string{"second", "first"}}}},
	}}}}}
	page := written(t, &d, "html")
	for _, want := range []string{
		`<li id="note-1">first</li><li id="note-2">second</li>`,
		`<sup><a href="#note-1" title="first">1</a></sup><sup><a href="#note-2" title="second">2</a></sup></td>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// What only a terminal can follow is not on a page.
func TestOffTerminal(t *testing.T) {
	for text, want := range map[string]string{
		"2 lines could not be read; -v lists them":                                     "2 lines could not be read",
		"you pay none of it (--as tokens)":                                             "you pay none of it",
		"274 compactions left out (--top 0 lists them)":                                "274 compactions left out",
		"the client unchanged, row own of `sim run --agent …`; its agent":              "the client unchanged; its agent",
		"Waiting grows to 1 h. `sim run --set a.b=1 PATH` shows $12.50.":               "Waiting grows to 1 h.",
		"These are samples. For your own sessions: sim report ~/.claude":               "These are samples.",
		"To repeat a line: sim run --set PATH=VALUE.":                                  "",
		"chosen on these sessions; sim advise PATH judges on others; offered in Codex": "chosen on these sessions; offered in Codex",
		"net: −5 % (95 %: −9 % … −1 %); ~ chance. Told: a-b (c), similar; simple":      "net: −5 % (95 %: −9 % … −1 %); ~ chance. Told: a-b (c), similar; simple",
	} {
		if got := offTerminal(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		d := Document{Notes: []string{text}, Sections: []Section{{Title: "t", Blocks: []Block{Text{Text: text}}}}}
		if text != want && strings.Contains(written(t, &d, "html"), html.EscapeString(text)) {
			t.Errorf("the page says %q", text)
		}
	}
}

// Figures below a picture are for people: twelve million tokens have no exponent.
func TestFiguresOfPictures(t *testing.T) {
	for v, want := range map[float64]string{12_345_678: "12345700", 1e6: "1000000", 0.000012: "0.000012", 1.23456789: "1.23457", 0: "0"} {
		if got := sixDigits(v); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
}
