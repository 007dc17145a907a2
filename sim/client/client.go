// Package client assembles requests the way an agent's client does: where it
// puts cache markers, which lifetime it asks for, and how it counts tokens.
package client

import "github.com/compactsim/compactsim/internal/client"

// Assembly holds the settings of how requests are assembled beyond what the client's
// version says. Its keys are those of client in a scenario; sizes are tokens.
type Assembly = client.Assembly

// DefaultAssembly leaves everything as the version and the recording have it.
func DefaultAssembly() Assembly { return client.DefaultAssembly() }

// ForVersion returns Claude Code's client as it was at a version such as "2.1.17". Any
// other text counts as the newest version.
func ForVersion(release string) *client.ClaudeCode { return client.ForVersion(release) }

// Counting is how a client estimates tokens.
type Counting = client.Counting

// Marks is how the markers of one request are placed.
type Marks = client.Marks

// Event is a change of a session's surroundings, such as of its model or tools.
type Event = client.Event

// When is the moment of an Event.
type When = client.When
