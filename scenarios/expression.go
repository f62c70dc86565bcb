package scenarios

import "strings"

// expression is a parsed expression, or a part of one.
type expression struct {
	position int
	source   string // as written, for messages
	// operator is a sign, "call", "list", "literal" or "name", which is a client's.
	operator string
	literal  any // nil (none), bool, int64 or string
	function *function
	operands []*expression
}

// depthMax bounds how deep expressions nest.
const depthMax = 64

// parser is a recursive-descent parser with one token of look-ahead.
type parser struct {
	lexer lexer
	token token
	depth int
	nodes bool // a plain name is that of a client
}

// parseExpression reads a whole text; base is its position in the command.
func parseExpression(text string, base int) (*expression, *Error) {
	return (&parser{lexer: lexer{text: text, base: base}}).whole()
}

// parseNode reads an expression that gives a node, which may be the name of a client.
func parseNode(text string, base int) (*expression, *Error) {
	return (&parser{lexer: lexer{text: text, base: base}, nodes: true}).whole()
}

func (p *parser) whole() (*expression, *Error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.token.kind == tokenEnd {
		return nil, inputError(p.token.position, "an expression is missing").
			example(`isr("t-0") == [1,2,3]`)
	}
	e, err := p.binary(0)
	if err != nil {
		return nil, err
	}
	if p.token.kind != tokenEnd {
		return nil, inputError(p.token.position, "the expression should end before %q", p.token.text)
	}
	return e, nil
}

func (e *Error) example(text string) *Error {
	e.Hint = "for example " + text
	return e
}

func (p *parser) advance() *Error {
	next, err := p.lexer.next()
	if err == nil {
		p.token = next
	}
	return err
}

func (p *parser) isSign(sign string) bool {
	return p.token.kind == tokenSign && p.token.text == sign
}

func (p *parser) expect(sign string) *Error {
	if !p.isSign(sign) {
		return inputError(p.token.position, "%q is missing here", sign)
	}
	return p.advance()
}

// levels are the binary operators by how tightly they bind.
func levels() [][]string {
	return [][]string{{"||"}, {"&&"}, {"==", "!=", "<", "<=", ">", ">="}, {"+", "-"}}
}

func (p *parser) binary(level int) (*expression, *Error) {
	all := levels()
	if level == len(all) {
		return p.unary()
	}
	left, err := p.binary(level + 1)
	if err != nil {
		return nil, err
	}
	for p.token.kind == tokenSign && contains(all[level], p.token.text) {
		e := &expression{position: left.position, operator: p.token.text}
		if err := p.advance(); err != nil {
			return nil, err
		}
		right, err := p.binary(level + 1)
		if err != nil {
			return nil, err
		}
		e.operands = []*expression{left, right}
		left = p.sourced(e)
	}
	return left, nil
}

func contains(list []string, text string) bool {
	for _, each := range list {
		if each == text {
			return true
		}
	}
	return false
}

// sourced notes the text from an expression's beginning up to the token that follows it.
func (p *parser) sourced(e *expression) *expression {
	begin, end := e.position-p.lexer.base, p.token.position-p.lexer.base
	e.source = strings.TrimRight(p.lexer.text[begin:end], " \t\r\n")
	return e
}

func (p *parser) unary() (*expression, *Error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > depthMax {
		return nil, inputError(p.token.position, "the expression nests deeper than %d", depthMax)
	}
	if !p.isSign("!") && !p.isSign("-") {
		return p.primary()
	}
	e := &expression{position: p.token.position, operator: "unary" + p.token.text}
	if err := p.advance(); err != nil {
		return nil, err
	}
	operand, err := p.unary()
	if err != nil {
		return nil, err
	}
	e.operands = []*expression{operand}
	return p.sourced(e), nil
}

func (p *parser) primary() (*expression, *Error) {
	t := p.token
	switch {
	case t.kind == tokenNumber:
		return p.literal(t.number)
	case t.kind == tokenText:
		return p.literal(t.text)
	case t.kind == tokenName:
		return p.named()
	case p.isSign("("):
		if err := p.advance(); err != nil {
			return nil, err
		}
		e, err := p.binary(0)
		if err != nil {
			return nil, err
		}
		return e, p.expect(")")
	case p.isSign("["):
		e := &expression{position: t.position, operator: "list"}
		return p.items(e, "]")
	case t.kind == tokenEnd:
		return nil, inputError(t.position, "the expression ends too early")
	}
	return nil, inputError(t.position, "a value cannot begin with %q", t.text)
}

func (p *parser) literal(value any) (*expression, *Error) {
	e := &expression{position: p.token.position, operator: "literal", literal: value}
	if err := p.advance(); err != nil {
		return nil, err
	}
	return p.sourced(e), nil
}

// items reads what stands between brackets, separated by commas.
func (p *parser) items(e *expression, closing string) (*expression, *Error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	for !p.isSign(closing) {
		item, err := p.binary(0)
		if err != nil {
			return nil, err
		}
		e.operands = append(e.operands, item)
		if p.isSign(",") {
			if err := p.advance(); err != nil {
				return nil, err
			}
			continue
		}
		if !p.isSign(closing) {
			return nil, inputError(p.token.position, "%q or a comma is missing here", closing)
		}
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	return p.sourced(e), nil
}

// named reads true, false, none, or a function with its arguments.
func (p *parser) named() (*expression, *Error) {
	name := p.token
	switch name.text {
	case "true", "false":
		return p.literal(name.text == "true")
	case "none":
		return p.literal(nil)
	}
	f := findFunction(name.text)
	if f == nil && p.nodes && !p.lexer.opens() {
		e := &expression{position: name.position, operator: "name", literal: name.text}
		if err := p.advance(); err != nil {
			return nil, err
		}
		return p.sourced(e), nil
	}
	if f == nil {
		e := inputError(name.position, "there is no function %s", name.text)
		e.Hint = "COMMANDS.md lists them"
		return nil, e.meant(name.text, functionNames())
	}
	e := &expression{position: name.position, operator: "call", function: f}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.isSign("(") {
		if _, err := p.items(e, ")"); err != nil {
			return nil, err
		}
	}
	if err := f.check(e); err != nil {
		return nil, err
	}
	return p.sourced(e), nil
}

// each visits an expression and all parts of it.
func (e *expression) each(visit func(*expression)) {
	visit(e)
	for _, operand := range e.operands {
		operand.each(visit)
	}
}
