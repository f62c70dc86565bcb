package metadata

// tree is a persistent sorted map: put and remove return a new tree that shares all but the path
// to the change with the old one. It is a treap whose priorities are hashes of the keys, so equal
// contents have equal shapes whatever the order of their making, and comparing two versions can
// skip every part that they share.
type tree[V any] struct {
	key         string
	priority    uint64
	value       V
	left, right *tree[V]
}

// priorityOf hashes a key (FNV-1a with a final mix, so that similar names spread).
func priorityOf(key string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(key); i++ {
		h = (h ^ uint64(key[i])) * 1099511628211
	}
	h = (h ^ h>>32) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

// above says whether a belongs nearer to the root than b. Keys break ties, so there is one shape.
func (t *tree[V]) above(key string, priority uint64) bool {
	return t.priority > priority || t.priority == priority && t.key < key
}

// get returns the key's value, and whether there is one.
func (t *tree[V]) get(key string) (value V, ok bool) {
	for t != nil {
		switch {
		case key < t.key:
			t = t.left
		case key > t.key:
			t = t.right
		default:
			return t.value, true
		}
	}
	return value, false
}

// put returns the tree with the key's value replaced or added.
func (t *tree[V]) put(key string, value V) *tree[V] {
	return t.insert(&tree[V]{key: key, priority: priorityOf(key), value: value})
}

// insert places the childless node n, which nobody else has seen yet.
func (t *tree[V]) insert(n *tree[V]) *tree[V] {
	if t == nil {
		return n
	}
	if t.key == n.key {
		n.left, n.right = t.left, t.right
		return n
	}
	if !t.above(n.key, n.priority) {
		n.left, _, n.right = t.split(n.key)
		return n
	}
	c := *t
	if n.key < t.key {
		c.left = t.left.insert(n)
	} else {
		c.right = t.right.insert(n)
	}
	return &c
}

// remove returns the tree without the key.
func (t *tree[V]) remove(key string) *tree[V] {
	if _, ok := t.get(key); !ok {
		return t
	}
	if t.key == key {
		return t.left.join(t.right)
	}
	c := *t
	if key < t.key {
		c.left = t.left.remove(key)
	} else {
		c.right = t.right.remove(key)
	}
	return &c
}

// join merges two trees of which every key of the first is below every key of the second.
func (t *tree[V]) join(o *tree[V]) *tree[V] {
	switch {
	case t == nil:
		return o
	case o == nil:
		return t
	case t.above(o.key, o.priority):
		c := *t
		c.right = t.right.join(o)
		return &c
	}
	c := *o
	c.left = t.join(o.left)
	return &c
}

// split returns what lies below the key, the key's own node or nil, and what lies above.
func (t *tree[V]) split(key string) (below, at, above *tree[V]) {
	switch {
	case t == nil:
		return nil, nil, nil
	case t.key == key:
		return t.left, t, t.right
	case key < t.key:
		c := *t
		below, at, c.left = t.left.split(key)
		return below, at, &c
	}
	c := *t
	c.right, at, above = t.right.split(key)
	return &c, at, above
}

// each calls visit for every entry in rising order of keys.
func (t *tree[V]) each(visit func(key string, value V)) {
	if t == nil {
		return
	}
	t.left.each(visit)
	visit(t.key, t.value)
	t.right.each(visit)
}

// diff calls visit, in rising order, for every key at which the trees hold different nodes; the
// side without the key gets nil. Parts that both trees share are not looked at.
func diff[V any](before, after *tree[V], visit func(before, after *tree[V])) {
	switch {
	case before == after:
	case before == nil:
		diff(nil, after.left, visit)
		visit(nil, after)
		diff(nil, after.right, visit)
	case after == nil:
		diff(before.left, nil, visit)
		visit(before, nil)
		diff(before.right, nil, visit)
	case before.above(after.key, after.priority):
		left, at, right := after.split(before.key)
		diff(before.left, left, visit)
		visit(before, at)
		diff(before.right, right, visit)
	default:
		left, at, right := before.split(after.key)
		diff(left, after.left, visit)
		visit(at, after)
		diff(right, after.right, visit)
	}
}
