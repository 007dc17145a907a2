package strategies

// Definition returns the kind of layer with a name, false when there is none.
func (r *Registry) Definition(name string) (Definition, bool) {
	d, ok := r.layers[name]
	return d, ok
}
