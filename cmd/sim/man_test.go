package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// Every verb has a manual page with its flags, and every flag that takes a value has a name for
// it in capitals. MAN names a folder to keep the pages in:
// `make man` and the release do, for the generator is no part of the program.
func TestManPages(t *testing.T) {
	dir := os.Getenv("MAN")
	if dir == "" {
		dir = t.TempDir()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	root := newRoot()
	root.DisableAutoGenTag = true
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	verbs := everyVerb(root)
	for _, c := range verbs {
		c.Long = literal.Replace(c.Long)
	}
	if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "sim " + version(), Manual: "sim"}, dir); err != nil {
		t.Fatal(err)
	}
	for _, c := range verbs {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		page, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(string(page), "--"+f.Name+`\fP`) {
				t.Errorf("%s does not tell of --%s", name, f.Name)
			}
			if value, _ := pflag.UnquoteUsage(f); value != "" && value == strings.ToLower(value) {
				t.Errorf("%s: the value of --%s is called %q: put a name in capitals between backquotes in its usage", name, f.Name, value)
			}
		})
	}
}

// literal keeps the generator, which reads Markdown, from reading marks in plain text.
var literal = strings.NewReplacer(`*`, `\*`, `_`, `\_`, `<`, `\<`, "`", "\\`", `[`, `\[`)

// everyVerb returns the commands that help lists, groups included.
func everyVerb(c *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			list = append(list, everyVerb(sub)...)
		}
	}
	return list
}
