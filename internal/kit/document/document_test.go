package document

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sample has a bit of everything.
func sample() *Document {
	return &Document{
		Title: "A bill",
		Head:  []string{"2 sessions", "a remark"},
		Sections: []Section{
			{Title: "Findings", Blocks: []Block{
				&Table{Columns: []Column{
					{Name: "name", Title: "NAME", Notes: []string{"as the file has it"}}, {Name: "id"},
					{Name: "cost_usd", Title: "COST", Unit: UnitUSD, Right: true}},
					Rows: [][]any{
						{"a|b", 1, Cell{Value: 1.5, Notes: []string{"batch prices"}}},
						{"c\nd", 2, 0.25},
						{"none", nil, nil},
					}},
				Text{Lead: "All", Text: " of it."},
			}},
			{Name: "c_1", Notes: []string{"batch prices"}, Blocks: []Block{
				List{{Label: "do", Text: "less"}, {Label: "see", Text: "there"}},
			}},
		},
		Notes: []string{"A note.", "", "Trust it."},
	}
}

func TestWriters(t *testing.T) {
	for format, want := range map[string]string{
		"table": `2 sessions
a remark

FINDINGS
NAME ¹   COST
a|b     $1.50 ²
c d     $0.25
none

All of it.

c_1 ²
  do    less
  see   there

¹ as the file has it
² batch prices
A note.

Trust it.
`,
		"markdown": `# A bill

2 sessions

a remark

## Findings

| NAME ¹ |  COST   |
|:-------|--------:|
| a\|b   | $1.50 ² |
| c d    | $0.25   |
| none   |         |

**All** of it.

### c\_1 ²

- do: less
- see: there

¹ as the file has it

² batch prices

A note.

Trust it.
`,
		"csv":  "name,id,cost_usd\na|b,1,1.5\nc d,2,0.25\nnone,,\n",
		"json": "[\n{\"name\":\"a|b\",\"id\":1,\"cost_usd\":1.5},\n{\"name\":\"c\\nd\",\"id\":2,\"cost_usd\":0.25},\n{\"name\":\"none\",\"id\":null,\"cost_usd\":null}\n]\n",
	} {
		var b strings.Builder
		if err := sample().Write(&b, format); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestWriteErrors(t *testing.T) {
	for _, format := range Formats() {
		if err := sample().Write(fullDisk{}, format); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%s: %v", format, err)
		}
	}
	if err := sample().Write(io.Discard, "xml"); err == nil || !strings.Contains(err.Error(), "known: table, markdown, csv, json") {
		t.Errorf("xml: %v", err)
	}
}

// A row may end before the last column.
func TestShortRows(t *testing.T) {
	table := &Table{Columns: []Column{{Name: "a", Title: "A"}, {Name: "b", Title: "B"}}, Rows: [][]any{{1, 2}, {3}}}
	var b bytes.Buffer
	if err := writeCSV(&b, &Document{Data: func() *Table { return table }}); err != nil || b.String() != "a,b\n1,2\n3,\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
	table.grid(&footnotes{})
}
