package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// upstream names the full tables; empty for one that is not given.
type upstream struct {
	litellm, genai, overlay string
}

// trim renews the trimmed sources in dir from the full tables.
func trim(full upstream, dir string) error {
	var c catalog
	if err := readJSON(filepath.Join(dir, catalogFile), &c, true); err != nil {
		return err
	}
	if full.litellm != "" {
		text, err := trimLiteLLM(full.litellm, &c)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, litellmFile), text, 0o644); err != nil {
			return err
		}
	}
	if full.genai != "" {
		text, err := trimGenai(full.genai, &c)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, genaiFile), text, 0o644); err != nil {
			return err
		}
	}
	if full.overlay != "" {
		text, err := os.ReadFile(full.overlay)
		if err != nil {
			return err
		}
		text = append(bytes.TrimSpace(text), '\n')
		return os.WriteFile(filepath.Join(dir, overlayFile), text, 0o644)
	}
	return nil
}

// trimLiteLLM keeps the models the catalogue names, one a line.
func trimLiteLLM(path string, c *catalog) ([]byte, error) {
	var rows map[string]json.RawMessage
	if err := readJSON(path, &rows, false); err != nil {
		return nil, err
	}
	kept := make(map[string]litellmModel)
	for _, m := range c.Models {
		if m.LiteLLM == "" {
			continue
		}
		row, ok := rows[m.LiteLLM]
		if !ok {
			return nil, fmt.Errorf("%s has no model %s", path, m.LiteLLM)
		}
		var l litellmModel
		if err := json.Unmarshal(row, &l); err != nil {
			return nil, fmt.Errorf("%s: model %s: %w", path, m.LiteLLM, err)
		}
		kept[m.LiteLLM] = l
	}
	var b bytes.Buffer
	b.WriteString("{\n")
	for i, name := range slices.Sorted(maps.Keys(kept)) {
		if i > 0 {
			b.WriteString(",\n")
		}
		if err := writeLine(&b, fmt.Sprintf("%q: ", name), kept[name]); err != nil {
			return nil, err
		}
	}
	b.WriteString("\n}\n")
	return b.Bytes(), nil
}

// trimGenai keeps the models the catalogue names, one a line.
func trimGenai(path string, c *catalog) ([]byte, error) {
	var all []genaiProvider
	if err := readJSON(path, &all, false); err != nil {
		return nil, err
	}
	src := sources{genai: all}
	var b bytes.Buffer
	b.WriteString("[")
	for i, provider := range slices.Sorted(maps.Keys(c.Providers)) {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, "\n{\"id\": %q, \"models\": [", provider)
		sep := "\n"
		for _, m := range c.Models {
			if m.Provider != provider || m.Genai == "" {
				continue
			}
			g := src.genaiModel(provider, m.Genai)
			if g == nil {
				return nil, fmt.Errorf("%s has no model %s of %s", path, m.Genai, provider)
			}
			b.WriteString(sep)
			sep = ",\n"
			if err := writeLine(&b, " ", g); err != nil {
				return nil, err
			}
		}
		b.WriteString("]}")
	}
	b.WriteString("\n]\n")
	return b.Bytes(), nil
}

func writeLine(b *bytes.Buffer, prefix string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	b.WriteString(prefix)
	b.Write(text)
	return nil
}
