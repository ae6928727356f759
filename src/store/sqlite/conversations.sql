-- Conversation queues. See conversations.cc.

-- name: conversation
-- Inputs: owner, key. Result: its revision and head.
SELECT revision, head FROM conversation WHERE owner = ?1 AND key = ?2;

-- name: conversation_items
-- Inputs: owner, key. Result: number and head of each item, in order.
SELECT seq, item FROM conversation_item WHERE owner = ?1 AND key = ?2 ORDER BY seq;

-- name: conversation_body
-- Inputs: owner, key, seq.
SELECT body FROM conversation_body WHERE owner = ?1 AND key = ?2 AND seq = ?3;

-- name: conversations_of
-- Inputs: owner, key after which they come, limit.
SELECT owner, key, revision, head FROM conversation WHERE owner = ?1 AND key > ?2 ORDER BY key LIMIT ?3;

-- name: conversations
-- Inputs: owner and key after which they come, limit.
SELECT owner, key, revision, head FROM conversation WHERE (owner, key) > (?1, ?2) ORDER BY owner, key LIMIT ?3;

-- name: count_conversations
-- Inputs: owner.
SELECT count(*) FROM conversation WHERE owner = ?1;

-- name: put_conversation
-- Inputs: owner, key, revision, head. Writes: conversation.
INSERT OR REPLACE INTO conversation (owner, key, revision, head) VALUES (?1, ?2, ?3, ?4);

-- name: put_conversation_item
-- Inputs: owner, key, seq, head of the item. Writes: conversation_item.
INSERT OR REPLACE INTO conversation_item (owner, key, seq, item) VALUES (?1, ?2, ?3, ?4);

-- name: put_conversation_body
-- Inputs: owner, key, seq, body. Writes: conversation_body.
INSERT OR REPLACE INTO conversation_body (owner, key, seq, body) VALUES (?1, ?2, ?3, ?4);

-- name: delete_conversation_item
-- Inputs: owner, key, seq. Writes: conversation_item.
DELETE FROM conversation_item WHERE owner = ?1 AND key = ?2 AND seq = ?3;

-- name: delete_conversation_body
-- Inputs: owner, key, seq. Writes: conversation_body.
DELETE FROM conversation_body WHERE owner = ?1 AND key = ?2 AND seq = ?3;

-- name: delete_conversation
-- Inputs: owner, key. Writes: conversation.
DELETE FROM conversation WHERE owner = ?1 AND key = ?2;

-- name: delete_conversation_items
-- Inputs: owner, key. Writes: conversation_item.
DELETE FROM conversation_item WHERE owner = ?1 AND key = ?2;

-- name: delete_conversation_bodies
-- Inputs: owner, key. Writes: conversation_body.
DELETE FROM conversation_body WHERE owner = ?1 AND key = ?2;
