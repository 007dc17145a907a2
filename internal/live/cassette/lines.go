package cassette

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Lines are the blocks of a request, a line each. A request has hundreds: they are
// read as parts of one text, as a replay needs none of them and would else spend most
// of its time on making strings.
type Lines []string

// UnmarshalJSONFrom reads a list of texts.
func (l *Lines) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	raw, err := d.ReadValue()
	if err != nil {
		return err
	}
	if raw.Kind() != '[' || bytes.IndexByte(raw, '\\') >= 0 {
		return json.Unmarshal(raw, (*[]string)(l))
	}
	// Without an escape every other quotation mark begins a text, whatever is in it.
	text := string(raw[1 : len(raw)-1]) // without its brackets
	list := make(Lines, 0, bytes.Count(raw, []byte{'"'})/2)
	begin := -1
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' && begin < 0:
			begin = i + 1
		case c == '"':
			list = append(list, text[begin:i])
			begin = -1
		case begin < 0 && c != ',' && c != ' ' && c != '\t' && c != '\r' && c != '\n':
			return json.Unmarshal(raw, (*[]string)(l)) // which says what else it is
		}
	}
	*l = list
	return nil
}
