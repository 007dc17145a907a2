// Package op names what tool calls do to their objects. It has no promise to importers.
package op

// Op is what a tool call does to its object.
type Op uint8

// The operations of tools.
const (
	None   Op = iota
	Read      // reads the object
	Edit      // changes part of the object
	Write     // replaces the object
	Exec      // runs a command
	Search    // searches files
	Fetch     // reads from the network
	Agent     // starts a sub-agent
)

var names = [...]string{"none", "read", "edit", "write", "exec", "search", "fetch", "agent"}

// String returns the lower-case name used in reports.
func (o Op) String() string {
	if int(o) < len(names) {
		return names[o]
	}
	return "none"
}
