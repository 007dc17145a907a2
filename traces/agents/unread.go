package agents

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/traces"
)

// unread are agents whose recordings are known by sight and have no reader.
var unread = [...]*traces.Agent{
	{
		Name: "copilot-cli", Title: "GitHub Copilot CLI",
		Member: func(typ, name string) bool { return typ == "session.start" && name == "data" },
	},
	{Name: "gemini-cli", Title: "Gemini CLI", Document: geminiDocument},
}

// geminiDocument reports whether a file begins with a session id and the hash of
// a project.
func geminiDocument(head []byte) bool {
	d := jsontext.NewDecoder(bytes.NewReader(head))
	for _, want := range []string{"{", "sessionId", "", "projectHash"} {
		if t, err := d.ReadToken(); err != nil || want != "" && t.String() != want {
			return false
		}
	}
	return true
}
